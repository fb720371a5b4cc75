import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ENGINE = Path(__file__).parents[2] / "engine"
MODULES = sorted(path.relative_to(ENGINE).as_posix() for path in ENGINE.rglob("*.py"))

PURE: Final = {
    "collections", "dataclasses", "enum", "functools", "hashlib", "heapq", "hmac", "itertools", "re", "struct", "types",
    "typing", "msgspec",
}  # fmt: skip
"""What the engine may import: no clock, no chance, no way in or out."""
FILES: Final = {
    "cases.py": {"pathlib", "sys"},
    "replay.py": {"pathlib", "sys"},
    "casefile.py": {"pathlib"},
}
"""The two programs of the engine, and the file format of one of them, which read the files that they are given."""
WAYS_OUT: Final = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
"""What leads out of the process, or to any module, without an import."""


def imported(text: str) -> Iterator[str]:
    """The packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def used(text: str) -> Iterator[str]:
    """The names that a module uses, wherever in it."""
    return (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@pytest.mark.parametrize("module", MODULES)
def test_the_engine_imports_nothing_but_what_is_pure(module: str) -> None:
    """A module of the engine imports what computes and nothing else, but for its programs, which read files."""
    found = set(imported((ENGINE / module).read_text()))
    assert found - {"engine"} - PURE - FILES.get(module, set()) == set()


@pytest.mark.parametrize("module", [module for module in MODULES if module not in ("cases.py", "replay.py")])
def test_the_engine_reads_and_writes_nothing(module: str) -> None:
    """A module of the engine opens, prints and asks for nothing, but for its programs."""
    assert WAYS_OUT & set(used((ENGINE / module).read_text())) == set()


def test_no_more_may_be_imported_than_is() -> None:
    """What the engine may import is what it does import, so that the list says how it is."""
    everything = {name for module in MODULES for name in imported((ENGINE / module).read_text())}
    assert everything == PURE | {"engine", "pathlib", "sys"}
    assert PURE - sys.stdlib_module_names == {"msgspec"}
    assert {module: set(imported((ENGINE / module).read_text())) & {"pathlib", "sys"} for module in FILES} == FILES
