"""Stores on every server that can be had, and on one that a test may end and start again."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from service.embedded import EmbeddedRedis
from service.store.feed import FeedLimits
from service.store.store import Options, Store
from tests.patience import patient

Connect = Callable[..., Awaitable[Store]]


@pytest.fixture
async def connect(store_url: str) -> AsyncIterator[Connect]:
    """What connects further stores, as further processes would, to the server of the test. They are patient."""
    stores: list[Store] = []

    async def another(options: Options | None = None) -> Store:
        stores.append(await Store.connect(store_url, patient(options)))
        return stores[-1]

    yield another
    for store in stores:
        await store.close()


@pytest.fixture
async def store(connect: Connect) -> Store:
    """A store on an empty server; the test runs on every kind of server."""
    return await connect()


@pytest.fixture
async def own_store(embedded_redis: EmbeddedRedis) -> AsyncIterator[Store]:
    """A store on a server of the test's own. It never checks its games: what is not noticed is missed."""
    store = await Store.connect(embedded_redis.url, patient(Options(feed=FeedLimits(check_s=3600))))
    yield store
    await store.close()
