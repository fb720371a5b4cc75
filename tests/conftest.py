"""What every test may ask for: Redis-compatible servers, and a loud word at the end where one of them cannot be had."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

from service.embedded import EmbeddedRedis
from tests import servers
from tests.clauses import Clauses

# A machine that is busy with something else makes no test fail. Where CI is set, Hypothesis does so by itself.
hypothesis.settings.register_profile("steady", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("steady")

ASKED_FOR_ALL = pytest.StashKey[bool]()
LACKED = pytest.StashKey[dict[str, None]]()
Lacking = Callable[[str], NoReturn]


def pytest_configure(config: pytest.Config) -> None:
    """Count the clauses that the tests hold; let Ctrl-C reach what they start, also where they are a background job."""
    config.pluginmanager.register(Clauses())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # which every process started from here would inherit
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
def store_url(any_server: str) -> str:
    """The URL of an empty server. The test runs once on every one that can be had: see `tests/servers.py`."""
    servers.empty(any_server)
    return any_server


@pytest.fixture(scope="session")
def any_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of one of the servers, started once for all its tests."""
    with servers.SERVERS[request.param]() as url:
        yield url


@pytest.fixture(scope="session")
def lacking(pytestconfig: pytest.Config) -> Lacking:
    """Leaves out the test that cannot run here for want of something, and has the run say so at its end."""

    def leave_out(what: str) -> NoReturn:
        pytestconfig.stash.setdefault(LACKED, {})[what] = None
        pytest.skip(what)

    return leave_out


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `store_url` on every server that can be had."""
    if "any_server" in metafunc.fixturenames:
        metafunc.config.stash[ASKED_FOR_ALL] = True
        names = [name for name in servers.SERVERS if name not in servers.missing()]
        metafunc.parametrize("any_server", names, indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nothing is left out silently: say what this run could not be held against."""
    stash = terminalreporter.config.stash
    lacking = [*(servers.missing().values() if stash.get(ASKED_FOR_ALL, False) else []), *stash.get(LACKED, {})]
    if lacking:
        terminalreporter.section(f"{len(lacking)} not to be had here", yellow=True)
        for line in lacking:
            terminalreporter.line(line, yellow=True)
