import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tools import protos

ROOT = Path(__file__).parent.parent
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
LONGEST_FUNCTION = 60
LONGEST_MODULE = 400
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def functions(text: str) -> Iterator[Function]:
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, Function))


def pinned(lock: str) -> dict[str, str]:
    """What a lock pins: each requirement's head line without its marker, and the hashes below it."""
    entries = re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.MULTILINE | re.IGNORECASE)
    return {entry.split()[0]: entry for entry in entries if not entry.startswith("#") and entry.strip()}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    """Each requirement in a lock names one version and the hashes of its files."""
    requirements = pinned(lock)
    assert requirements
    assert [head for head, entry in requirements.items() if "==" not in head or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_a_package_index(lock: str) -> None:
    """A lock names no index and no address: whoever installs from it says where from."""
    assert re.findall(r"--(?:extra-)?index-url|--find-links|\w+://\S+", (ROOT / lock).read_text()) == []


def test_every_lock_is_installed_by_make() -> None:
    """Each lock has its rule in the Makefile, and is made anew by `make lock`."""
    makefile = (ROOT / "Makefile").read_text()
    assert "requirements.lock" in LOCKS
    assert [lock for lock in LOCKS if f"-r {lock}" not in makefile or f"-o {lock}" not in makefile] == []


def test_what_is_told_to_be_made_can_be() -> None:
    """Each `make …` in the documents is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    told = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"(?:`|^ {4,}|&& )(?:sudo )?make ([a-z]+)", page.read_text(), re.MULTILINE)
    }
    assert len(told) > 20
    assert [(page, name) for page, name in sorted(told) if name not in targets] == []


def test_the_locks_agree() -> None:
    """What rummyd runs on is pinned to the same versions where it is tested."""
    assert pinned("requirements.lock").keys() <= pinned("requirements-dev.lock").keys()


def test_every_function_fits_a_screen() -> None:
    """No function is longer than a screen and no module longer than a few."""
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name, text in modules("bench", "deploy", "engine", "service", "clients", "load", "tests", "tools")
        for node in functions(text)
        if (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    long += [
        name
        for name, text in modules("bench", "deploy", "engine", "service", "clients", "load", "tools")
        if text.count("\n") > LONGEST_MODULE
    ]
    assert long == []


def test_every_test_is_a_sentence() -> None:
    """Each test's docstring is one sentence, to be read as part of the specification."""
    tests = [
        (name, node) for name, text in modules("tests") for node in functions(text) if node.name.startswith("test_")
    ]
    sentences = [(f"{name}::{node.name}", " ".join((ast.get_docstring(node) or "").split())) for name, node in tests]
    assert len(sentences) > 10
    assert [where for where, sentence in sentences if not re.fullmatch(r"[A-Z`].*[^.]\.", sentence)] == []


@pytest.mark.parametrize(
    ("python", "answer"), [("false", "older, or missing"), ("no-such-python", "older, or missing")]
)
def test_an_unfit_python_is_refused_in_one_line(tmp_path: Path, python: str, answer: str) -> None:
    """Without a fit Python, make says which version it needs before it makes anything."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "requirements.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    quiet = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "run", f"PYTHON={python}"]
    made = subprocess.run(command, cwd=tmp_path, env=quiet, capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert re.search(rf"^rummyd needs Python 3\.11 or newer: {python} is older, or missing$", made.stderr, re.MULTILINE)
    assert not (tmp_path / ".venv").exists()


def test_every_file_of_a_package_is_packaged() -> None:
    """What lies beside the code, from scripts to licences, is installed with it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["*"]
    places = [path for folder in ("engine", "service", "clients", "proto/gen") for path in (ROOT / folder).rglob("*")]
    files = [path.name for path in places if path.is_file() and path.suffix not in {".py", ".pyc"}]
    assert {"commit.lua", "descriptors.binpb", "LICENSE.txt"} <= set(files)
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []


def test_every_package_says_that_it_is_typed() -> None:
    """Each package of ours has the mark by which type checkers look into it where it is installed."""
    assert [name for name in ("engine", "service", "clients") if not (ROOT / name / "py.typed").exists()] == []


def test_stale_generated_code_is_found(tmp_path: Path) -> None:
    """The check of proto/gen names each file that is missing, left over or different."""
    fresh, old = tmp_path / "fresh", tmp_path / "old"
    for tree, files in (
        (fresh, {"same": "1", "changed": "1", "new": "1"}),
        (old, {"same": "1", "changed": "2", "gone": "1"}),
    ):
        tree.mkdir()
        for name, text in files.items():
            (tree / name).write_text(text)
    assert [line.split(":")[0] for line in protos.differing(fresh, old)] == ["changed", "gone", "new"]
