"""Live servers for the tests of the whole product."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.live import Rummyd

Start = Callable[..., Rummyd]


@pytest.fixture(scope="session")
def rummyd(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rummyd]:
    """A server that all tests share, on the Redis that they share. None of them stops it."""
    with Rummyd(tmp_path_factory.mktemp("rummyd"), redis_url=redis_url) as server:
        yield server


@pytest.fixture(scope="session")
def sister(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rummyd]:
    """A second server on the Redis of the first: what one is told the other knows."""
    with Rummyd(tmp_path_factory.mktemp("sister"), redis_url=redis_url) as server:
        yield server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers of the test's own, to stop and to kill: `start("--flag", "value", redis_url=…)`."""
    with ExitStack() as stack:
        number = 0

        def start_one(*flags: str, redis_url: str | None = None, **variables: str) -> Rummyd:
            nonlocal number
            number += 1
            folder = tmp_path / f"rummyd-{number}"
            folder.mkdir()
            return stack.enter_context(Rummyd(folder, *flags, redis_url=redis_url, **variables))

        yield start_one
