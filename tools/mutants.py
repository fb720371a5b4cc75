"""Mutation testing of the engine: break it in one place at a time, and see whether its tests notice.

    python tools/mutants.py [--every N] [--report] [MODULE...]      `make mutants`

Cosmic-ray makes the mutants, as tools/mutants.toml has it, in copies of the tree: the tree itself stays as it is. With
`--every` one mutant of so many is tried, the same ones each time. What survives is shown as a diff: either a test is
missing, or the mutant plays the same game. `--report` writes the scores into docs/proof.md, where modules
that were not tried keep theirs.
"""

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

__all__ = ["MODULES", "Mutant", "main", "ordered_tests", "scores"]

ROOT: Final = Path(__file__).resolve().parent.parent
TOOLS: Final = ROOT / ".venv-mutants" / "bin"
PAGE: Final = ROOT / "docs" / "proof.md"
PLACE: Final = re.compile(r"(?<=<!-- mutants: written by `make mutants` -->\n).*?(?=<!-- /mutants -->)", re.DOTALL)
LINE: Final = re.compile(r"^\| ([\w/]+) \| (all|one of \d+) \| (\d+) \| (\d+) \|", re.MULTILINE)
COPIED: Final = ("engine", "tests", "tools", "docs", "pyproject.toml")
MODULES: Final = (
    "step",
    "turns",
    "draws",
    "lays",
    "debts",
    "legal",
    "listing",
    "melds",
    "scoring",
    "view",
    "deal",
    "shuffle",
    "status",
    "cards",
    "rules",
    "faults",
    "presets",
    "notation",
    "replay",
    "solver/arrange",
    "solver/choice",
    "solver/cores",
    "solver/effort",
    "solver/search",
)
"""What decides something, and is not only text: paths below engine/, without `.py`."""
FIRST: Final = ("cases", "turns", "scoring", "legal")
"""Tests that notice much, and soon: with a module's own they come before the others."""
NOT_ASKED: Final = ("mutants", "secrecy", "machine", "solver", "notation", "faults")
"""Tests that break the engine themselves, take long, or are about a module of their own alone."""


class Mutant(NamedTuple):
    """A mutant, and what became of it: `killed`, `survived` or `incompetent` (it could not even be run)."""

    module: str
    line: int
    operator: str
    outcome: str
    diff: str


def ordered_tests(module: str, root: Path) -> tuple[list[str], list[str]]:
    """The test files to try first on a mutant of the module, and the others."""
    folder = root / "tests" / "engine"
    every = sorted(path.stem.removeprefix("test_") for path in folder.glob("test_*.py"))
    first = [name for name in dict.fromkeys((module.partition("/")[0], *FIRST)) if name in every]
    others = [name for name in every if name not in first and name not in NOT_ASKED]
    own, rest = ([f"tests/engine/test_{name}.py" for name in names] for names in (first, others))
    return own, rest


def scores(found: Mapping[str, Sequence[Mutant]], every: int, told: str = "") -> str:
    """A table of the modules tried, one mutant of `every`; a module that was not keeps its line of the table `told`."""
    lines = {name: (part, int(tried), int(lived)) for name, part, tried, lived in LINE.findall(told) if name in MODULES}
    for name, mutants in found.items():
        lived = sum(mutant.outcome == "survived" for mutant in mutants)
        lines[name] = ("all" if every == 1 else f"one of {every}", len(mutants), lived)
    rows = [(name, *lines[name]) for name in sorted(lines, key=[*MODULES, *lines].index)]
    rows.append(("together", "", sum(row[2] for row in rows), sum(row[3] for row in rows)))
    head = "| module | mutants tried | | survived | noticed |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join(
        f"| {name} | {part} | {tried} | {lived} | {100 * (tried - lived) / (tried or 1):.1f} % |\n"
        for name, part, tried, lived in rows
    )


def main(arguments: Sequence[str]) -> int:
    """What the module says. The exit code is 1 where the tests fail before anything is broken."""
    parser = argparse.ArgumentParser(
        prog="mutants", description="Breaks the engine, and sees whether its tests notice."
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of the engine; {' '.join(MODULES)} by default")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try one mutant of so many")
    parser.add_argument("--report", action="store_true", help=f"write the scores into {PAGE.name}")
    asked = parser.parse_args(arguments)
    modules = asked.modules or list(MODULES)
    with tempfile.TemporaryDirectory() as folder:
        copies = SimpleQueue[Path]()
        for number in range(min(2, os.cpu_count() or 1)):
            copies.put(_copied(Path(folder) / str(number)))

        def tried(module: str) -> list[Mutant]:
            copy = copies.get()
            try:
                return _tried(copy, module, asked.every)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(copies.qsize()) as threads:
            found = dict(zip(modules, threads.map(tried, modules), strict=True))
    print(scores(found, asked.every))
    if asked.report:
        PAGE.write_text(PLACE.sub(lambda old: scores(found, asked.every, old[0]), PAGE.read_text()))
    return 0


def _copied(folder: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def _tried(copy: Path, module: str, every: int) -> list[Mutant]:
    """Each mutant of the module, tried in the copy."""
    plain = module.replace("/", "-")
    config, session = copy / f"{plain}.toml", copy / f"{plain}.sqlite"
    text = (copy / "tools" / "mutants.toml").read_text()
    own, others = ordered_tests(module, copy)
    told = {"MODULE": module, "PYTHON": sys.executable, "OWN": " ".join(own), "OTHERS": " ".join(others)}
    for name, value in told.items():
        text = text.replace(name, value)
    config.write_text(text)
    _run(copy, "cosmic-ray", "baseline", config.name)
    _run(copy, "cosmic-ray", "init", config.name, session.name)
    _run(copy, "cr-filter-operators", session.name, config.name)
    _thin_out(session, every)
    _run(copy, "cosmic-ray", "exec", config.name, session.name)
    found = list(_mutants(session, module))
    lived = [mutant for mutant in found if mutant.outcome == "survived"]
    print(
        f"{module}: {len(found)} mutants, {len(lived)} survived", *(f"\n{mutant.diff}" for mutant in lived), flush=True
    )
    return found


def _run(copy: Path, tool: str, *arguments: str) -> None:
    """One of cosmic-ray's commands, with the copy's modules before any that are installed."""
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    made = subprocess.run([TOOLS / tool, *arguments], cwd=copy, env=env, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{tool} {' '.join(arguments)} fails:\n{made.stdout}{made.stderr}")


def _thin_out(session: Path, every: int) -> None:
    """Leave one mutant of so many, evenly over the module."""
    with sqlite3.connect(session) as database:
        jobs = database.execute(
            "SELECT job_id FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM work_results)"
            " ORDER BY start_pos_row, start_pos_col, operator_name, occurrence"
        ).fetchall()
        dropped = [job for number, job in enumerate(jobs) if number % every]
        for table in ("mutation_specs", "work_items"):
            database.executemany(f"DELETE FROM {table} WHERE job_id = ?", dropped)  # noqa: S608  one of two names
    database.close()


def _mutants(session: Path, module: str) -> Iterator[Mutant]:
    with sqlite3.connect(session) as database:
        rows = database.execute(
            "SELECT start_pos_row, operator_name, test_outcome, diff"
            " FROM mutation_specs JOIN work_results USING (job_id)"
            " WHERE worker_outcome != 'SKIPPED' ORDER BY start_pos_row, start_pos_col"
        ).fetchall()
    database.close()
    for line, operator, outcome, diff in rows:
        yield Mutant(module, line, operator.removeprefix("core/"), str(outcome).lower(), diff)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
