"""What the docs name is there: files, headings, make's targets, settings, metrics, panels of the dashboard."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from service import settings

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
LONGEST_LINE = 120
OF_TESTS = {"RUMMYD_TEST_REDIS_URL"}
"""Variables that the server does not read."""


def kept() -> Iterator[Path]:
    """The files that git keeps, where this is a clone, else all."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        yield from (path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.as_posix())
    else:
        yield from (ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def headings(page: Path) -> set[str]:
    """The anchors that a page's headings have."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def section(title: str) -> str:
    """What stands below a heading of docs/operations.md, up to the next one of its kind."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", OPERATIONS, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def prose(page: Path) -> Iterator[str]:
    """The lines of a page that are neither fenced code, nor a table, nor written by a tool."""
    text = re.sub(
        r"^```.*?^```$|^<!-- ([\w ]+): .*?^<!-- /\1 -->$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL
    )
    return (line for line in text.splitlines() if not line.lstrip().startswith("|"))


@pytest.mark.parametrize("name", NAMES)
def test_prose_is_wrapped(name: str) -> None:
    """No line of prose has more than 120 characters."""
    assert [line for line in prose(ROOT / name) if len(line) > LONGEST_LINE] == []


def test_no_file_holds_an_unfinished_merge() -> None:
    """No file has the marks that git leaves where two changes met."""
    marks = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
    assert [path.relative_to(ROOT).as_posix() for path in kept() if marks.search(path.read_bytes())] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    """Each link of a page to another, or to a heading, finds it."""
    page = ROOT / name
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and other.suffix == ".md" and anchor not in headings(other)):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("name", NAMES)
def test_every_target_of_make_is_one(name: str) -> None:
    """Each `make` target that a page names is in the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^ {4})make ([a-z]+)", (ROOT / name).read_text(), re.MULTILINE)
    assert [target for target in named if target not in targets] == []


@pytest.mark.parametrize("name", ["README.md", "docs/operations.md"])
def test_every_variable_is_a_setting(name: str) -> None:
    """Each variable that an operator is told of is one that the server reads."""
    known = {row.variable for row in settings.table()} | OF_TESTS
    named = set(re.findall(r"RUMMYD_[A-Z_]*[A-Z](?!_?…)\b", (ROOT / name).read_text()))
    assert named
    assert named - known == set()


def test_every_panel_that_a_runbook_names_is_on_the_dashboard() -> None:
    """Where an operator is told to look at a panel, the dashboard has one of that title."""
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "rummyd.json").read_text())
    titles = {panel["title"] for panel in dashboard["panels"]}
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*\n]+)\*(?!\*)", section("Upgrade and roll back") + section("Runbook")))
    assert len(named) > 3
    assert named - titles == set()


def test_clean_removes_what_git_ignores() -> None:
    """`make clean` removes all that git is told to ignore, but for the games of `make run`."""
    makefile = (ROOT / "Makefile").read_text()
    variables = dict(re.findall(r"^([A-Z]+) := (\S+)$", makefile, re.MULTILINE))
    recipe = makefile.split("\nclean:")[1].split("\n\n")[0]
    removed = re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], recipe).split()
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
    assert [name for name in ignored if name not in [*removed, ".data"]] == []
