"""What every test may ask for: Redis-compatible servers, and a loud word at the end where one of them cannot be had."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

# gRPC's own care for a process that forks, while its threads are busy, ends the new one before it is another program.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from service.embedded import EmbeddedRedis
from tests import servers
from tests.clauses import Clauses

# A machine that is busy with something else makes no test fail. Where CI is set, Hypothesis does so by itself.
hypothesis.settings.register_profile("steady", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("steady")

NOT_AVAILABLE = "not available here: "
ON_EVERY_SERVER = ("store", "on every server")
Lacking = Callable[[str], NoReturn]


def pytest_configure(config: pytest.Config) -> None:
    """Count the clauses that the tests hold; let Ctrl-C reach what they start, also where they are a background job."""
    config.pluginmanager.register(Clauses())
    config.pluginmanager.register(Lacks())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # which every process started from here would inherit
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test an id of its own: of several with one id only one would run where processes share the tests.

    Those that Schemathesis makes of one function all have the function's.
    """
    for item in items:
        if not item.nodeid.endswith(item.name):
            item._id = item.id.parse(f"{item.nodeid}[{item.name.partition('[')[2]}")
    if len({item.nodeid for item in items}) < len(items):
        raise pytest.UsageError("several tests have the same id")


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of an embedded server, one for the whole run: its tests share it, so each makes games of its own."""
    with servers.embedded() as url:
        yield url


@pytest.fixture
def embedded_redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """An embedded server of one test's own, to stop, kill and start again at will: it keeps its data meanwhile."""
    with EmbeddedRedis(data=tmp_path / "redis") as server:
        yield server


@pytest.fixture
def store_url(any_server: str, record_property: Callable[[str, object], None]) -> str:
    """The URL of an empty server. The test runs once on every one that can be had: see `tests/servers.py`."""
    record_property(*ON_EVERY_SERVER)
    servers.empty(any_server)
    return any_server


@pytest.fixture(scope="session")
def any_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of one of the servers, started once for all its tests."""
    with servers.SERVERS[request.param]() as url:
        yield url


@pytest.fixture(scope="session")
def lacking() -> Lacking:
    """Leaves out the test that cannot run here for want of something, and has the run say so at its end."""

    def leave_out(what: str) -> NoReturn:
        pytest.skip(NOT_AVAILABLE + what)

    return leave_out


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `store_url` on every server that can be had."""
    if "any_server" in metafunc.fixturenames:
        names = [name for name in servers.SERVERS if name not in servers.missing()]
        metafunc.parametrize("any_server", names, indirect=True, scope="session")


class Lacks:
    """A plugin of pytest that notes what the tests could not be held against, in whichever process they ran."""

    def __init__(self) -> None:
        self._lacked: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the servers that a test did not run on, and for want of what it was left out."""
        if ON_EVERY_SERVER in map(tuple, report.user_properties):
            self._lacked |= dict.fromkeys(servers.missing().values())
        if report.skipped and isinstance(report.longrepr, tuple):
            _, found, what = report.longrepr[2].partition(NOT_AVAILABLE)
            self._lacked |= {what: None} if found else {}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Nothing is left out silently: say what this run could not be held against."""
        if self._lacked:
            terminalreporter.section(f"{len(self._lacked)} not available here", yellow=True)
            for line in self._lacked:
                terminalreporter.line(line, yellow=True)
