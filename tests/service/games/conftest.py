"""Desks on a real store: the clock stands still unless a test moves it, and chance is the same in every run."""

import random
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from service.games.desk import Desk
from service.store.address import open_link
from service.store.store import Options
from tests.patience import patient
from tests.service.games.tables import BusyStore, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[BusyStore]:
    """A store in a namespace of the test's own, into whose commits a test can put what others do meanwhile."""
    options = patient(Options(namespace=f"test-{uuid4().hex}"))
    store = BusyStore(open_link(redis_url, options.link), options)
    yield store
    await store.close()


@pytest.fixture
def new_desk(store: BusyStore, clock: Clock) -> Callable[[], Desk]:
    """What makes further desks at the same store, as further processes have them."""
    chance = random.Random(7)  # noqa: S311  the same in every run
    return lambda: Desk(store, clock, chance.randbytes)


@pytest.fixture
def desk(new_desk: Callable[[], Desk]) -> Desk:
    return new_desk()


@pytest.fixture
def other(new_desk: Callable[[], Desk]) -> Desk:
    """The desk of another process."""
    return new_desk()
