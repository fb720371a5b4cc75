import subprocess
import sys
from pathlib import Path

import pytest

from tests.clauses import RULES, clauses_of

ROOT = Path(__file__).parents[1]
RULES_OF_TWO = "| **B1** | one |\n| **G2** | two |\n"
TEST = """
import pytest

@pytest.mark.clause("B1")
def test_one() -> None:
    pass

@pytest.mark.clause("G2")
def test_two() -> None:
    {body}
"""
CONFTEST = f"""
import sys
from pathlib import Path

sys.path.insert(0, {str(ROOT)!r})
from tests.clauses import Clauses

def pytest_configure(config):
    config.addinivalue_line("markers", "clause(id): a clause")
    config.pluginmanager.register(Clauses(Path(__file__).parent / "rules.md"))
"""


@pytest.mark.parametrize(
    ("body", "arguments", "exit_code", "told"),
    [
        ("pass", [], 0, "2 passed"),
        ("pytest.skip()", [], 1, "G2"),
        ("assert False", [], 1, "1 failed"),
        ("pytest.skip()", ["-k", "one or two"], 0, "1 skipped"),
        ("pytest.skip()", ["t"], 0, "1 skipped"),
        ("pass", ["-n", "2"], 0, "2 passed"),
        ("pytest.skip()", ["-n", "2"], 1, "G2"),
    ],
)
def test_a_clause_without_a_test_that_ran_fails_the_whole_suite(
    tmp_path: Path, body: str, arguments: list[str], exit_code: int, told: str
) -> None:
    """A run of everything in which no test of a clause was called fails and names it; a part may lack any."""
    (tmp_path / "t").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = t\n")
    (tmp_path / "t/conftest.py").write_text(CONFTEST)
    (tmp_path / "t/rules.md").write_text(RULES_OF_TWO)
    (tmp_path / "t/test_it.py").write_text(TEST.format(body=body))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, told in run.stdout) == (exit_code, True), run.stdout + run.stderr
    missing = "clauses of the rules without a test that ran" in run.stdout
    assert missing == (body == "pytest.skip()" and exit_code == 1)


def test_the_clauses_are_all_there() -> None:
    """The table of the rules names each clause of the three games and of all games, once."""
    games = [("B", 11), ("F", 14), ("P", 18), ("G", 8)]
    ids = [f"{game}{number}" for game, last in games for number in range(1, last + 1)]
    assert sorted(clauses_of(RULES.read_text())) == sorted([*ids, "P25", "P26"])
