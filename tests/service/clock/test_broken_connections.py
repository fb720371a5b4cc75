"""Connections to Redis that break, again and again, while a server uses them."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import uuid4

import uvloop

from service.clock import Clock
from service.embedded import EmbeddedRedis
from service.games.desk import Desk
from service.observability import metrics
from service.store.backoff import cancelled
from service.store.errors import StoreUnavailable
from service.store.store import Options, Store
from tests.patience import patient
from tests.service.store.proxy import Proxy
from tests.service.store.tables import created

BREAKS = 300
CALLERS = 10
FORESEEN = {"answered", "StoreUnavailable"}


def test_connections_that_break_end_nothing(embedded_redis: EmbeddedRedis, tmp_path: Path) -> None:
    """However often connections break while they are used, a call finds the store away at worst; the clock goes on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # whose transports raise what no other loop does
        told, faults = runner.run(_broken_again_and_again(embedded_redis.url, tmp_path))
    assert (set(told), faults) == (FORESEEN, 0)


async def _broken_again_and_again(redis_url: str, folder: Path) -> tuple[Counter[str], float]:
    """What calls came to meanwhile, and how often the clock met what it did not foresee."""
    told: Counter[str] = Counter()

    async def call(store: Store, game: str) -> None:
        while not cancelled():
            try:
                await store.load(game)
                told["answered"] += 1
            except StoreUnavailable:
                told["StoreUnavailable"] += 1
            except Exception as error:  # noqa: BLE001  it is what the test is about
                told[type(error).__name__] += 1
            await asyncio.sleep(0.001)

    faults = metrics.background_faults.labels("clock")._value
    before = faults.get()
    async with Proxy(redis_url, folder) as proxy:
        store = await Store.connect(proxy.url, patient(Options(namespace=f"test-{uuid4().hex}")))
        game = (await created(store)).game
        clock = asyncio.create_task(Clock(Desk(store), 0.02).keep())
        calls = [asyncio.create_task(call(store, game)) for _ in range(CALLERS)]
        for _ in range(BREAKS):
            proxy.break_all()
            await asyncio.sleep(0.01)
            if not told.keys() <= FORESEEN or faults.get() > before:
                break
        answered = told["answered"]
        async with asyncio.timeout(60):
            while told["answered"] == answered:  # noqa: ASYNC110 - of many calls, any
                await asyncio.sleep(0.01)
        assert not clock.done()
        for task in (clock, *calls):
            task.cancel()
        await asyncio.wait([clock, *calls])
        await store.close()
    return told, faults.get() - before
