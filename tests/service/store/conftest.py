"""Stores on every server that can be had, and on one that a test may end and start again."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from service.embedded import EmbeddedRedis
from service.store.feed import FeedLimits
from service.store.link import Limits
from service.store.store import Options, Store

Connect = Callable[..., Awaitable[Store]]
PATIENT = Limits(connect_s=60.0, call_s=60.0)
"""A machine that is busy with something else makes no call fail."""
PATIENT_OPTIONS = Options(link=PATIENT, feed=FeedLimits(subscribe_s=60.0))


@pytest.fixture
async def connect(store_url: str) -> AsyncIterator[Connect]:
    """What connects further stores, as further processes would, to the server of the test."""
    stores: list[Store] = []

    async def another(options: Options | None = None) -> Store:
        stores.append(await Store.connect(store_url, options or PATIENT_OPTIONS))
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
    store = await Store.connect(embedded_redis.url, Options(feed=FeedLimits(check_s=3600)))
    yield store
    await store.close()
