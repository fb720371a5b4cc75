import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutants
from tools.mutants import MODULES, ROOT, Mutant, ordered_tests, scores


def session(folder: Path, jobs: int, outcomes: dict[int, str]) -> Path:
    """A session as cosmic-ray keeps it: mutants, some of which were tried, or skipped by a filter."""
    path = folder / "session.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE work_items (job_id)")
        columns = "operator_name, occurrence, start_pos_row, start_pos_col, job_id"
        database.execute(f"CREATE TABLE mutation_specs ({columns})")
        database.execute("CREATE TABLE work_results (worker_outcome, test_outcome, diff, job_id)")
        for job in range(jobs):
            database.execute("INSERT INTO work_items VALUES (?)", (job,))
            database.execute("INSERT INTO mutation_specs VALUES (?, 0, ?, 0, ?)", ("core/AddNot", job + 1, job))
        for job, outcome in outcomes.items():
            worker, test = ("SKIPPED", None) if outcome == "SKIPPED" else ("NORMAL", outcome)
            database.execute("INSERT INTO work_results VALUES (?, ?, ?, ?)", (worker, test, f"diff {job}", job))
    database.close()
    return path


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_tried_by_its_own_tests_first(module: str) -> None:
    """A mutant is put to the tests of its module first, and never to tests that break the engine themselves."""
    first, others = ordered_tests(module, ROOT)
    own = f"tests/engine/test_{module.split('/', maxsplit=1)[0]}.py"
    assert first[0] == own or not (ROOT / own).exists()
    assert len({*first, *others}) == len(first) + len(others) > 10
    assert "tests/engine/test_mutants.py" not in [*first, *others]
    assert (ROOT / "engine" / f"{module}.py").exists()


def test_the_engines_tests_run_without_a_servers(tmp_path: Path) -> None:
    """The tests of a module pass as mutants are put to them: without plugins, from a copy of the tree."""
    copy = mutants._copied(tmp_path / "copy")
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    tests = ["tests/engine/test_rules.py", "tests/engine/test_turns.py"]
    command = [sys.executable, "-m", "pytest", "-c", "tools/mutants.ini", "--rootdir", ".", *tests]
    made = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


def test_of_so_many_mutants_one_is_left(tmp_path: Path) -> None:
    """What a filter skipped does not count, and of the rest every third is left, evenly over the module."""
    path = session(tmp_path, 10, {0: "SKIPPED", 5: "SKIPPED"})
    mutants._thin_out(path, 3)
    with sqlite3.connect(path) as database:
        left = database.execute("SELECT job_id FROM work_items ORDER BY job_id").fetchall()
    database.close()
    assert left == [(0,), (1,), (4,), (5,), (8,)]


def test_what_became_of_each_mutant_is_read_from_the_session(tmp_path: Path) -> None:
    """Each mutant that was tried comes with its line, its operator and what became of it."""
    path = session(tmp_path, 3, {0: "KILLED", 1: "SURVIVED", 2: "SKIPPED"})
    assert list(mutants._mutants(path, "melds")) == [
        Mutant("melds", 1, "AddNot", "killed", "diff 0"),
        Mutant("melds", 2, "AddNot", "survived", "diff 1"),
    ]


def test_the_scores_tell_what_was_noticed() -> None:
    """A mutant that cannot even be run is noticed as well; a module that is not tried again keeps its old line."""
    tried = [Mutant("melds", 1, "AddNot", outcome, "") for outcome in ("killed", "incompetent", "survived", "killed")]
    first = scores({"melds": tried[:1], "solver/search": tried[:1]}, 3)
    assert scores({"melds": tried}, 1, first).splitlines() == [
        "| module | mutants tried | | survived | noticed |",
        "| --- | --- | --- | --- | --- |",
        "| melds | all | 4 | 1 | 75.0 % |",
        "| solver/search | one of 3 | 1 | 0 | 100.0 % |",
        "| together |  | 5 | 1 | 80.0 % |",
    ]
