"""Every clause of the rules is held by a test that ran: a run of the whole suite fails where one is not."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest

__all__ = ["RULES", "Clauses", "clauses_of"]

RULES = Path(__file__).parents[1] / "docs/rules.md"
_SELECTING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")


def clauses_of(text: str) -> list[str]:
    """The ids of the clauses that the rules' table of them names, in its order."""
    return re.findall(r"^\| \*\*([BFPG]\d+)\*\* \|", text, re.MULTILINE)


class Clauses:
    """A plugin of pytest that counts the clauses of the tests that run."""

    def __init__(self, rules: Path = RULES) -> None:
        self._clauses = clauses_of(rules.read_text())
        self._ran: set[str] = set()
        self._missing: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have the report say which clauses its test holds: it may be counted by another process."""
        report = yield
        report.user_properties += [("clause", str(mark.args[0])) for mark in item.iter_markers("clause")]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the clauses of a test that was really called, however it ended."""
        if report.when == "call" and not report.skipped:
            self._ran.update(str(value) for name, value in report.user_properties if name == "clause")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run of the whole suite that ran no test of some clause."""
        if hasattr(session.config, "workerinput"):
            return  # it runs a part of the tests for another process
        stopped = session.shouldstop or session.shouldfail
        if _is_whole(session.config) and not stopped:
            self._missing = [clause for clause in self._clauses if clause not in self._ran]
            if self._missing and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the clauses that no test has held."""
        if self._missing:
            terminalreporter.section("clauses of the rules without a test that ran", red=True)
            terminalreporter.line(" ".join(self._missing), red=True)


def _is_whole(config: pytest.Config) -> bool:
    """Whether nothing was selected: no path, no name, no mark."""
    chosen = any(getattr(config.option, name, None) for name in _SELECTING)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
