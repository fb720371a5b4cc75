"""The clocks of several servers at one store: what is due is done once, by whichever of them lives."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from service.clock import Clock
from service.games.desk import Desk
from service.observability import metrics
from service.store.due import CLAIM_MS
from service.store.errors import StoreUnavailable
from service.store.keys import SHARDS, shard_of
from service.store.table import Batch, Table, TurnLimit, TurnTimedOut
from tests.service.games.tables import BusyStore, Match, playing
from tests.service.games.tables import Clock as Time

LIMIT = TurnLimit(turn_ms=10_000, bank_ms=0, misses=50)


async def time_outs(match: Match) -> list[int]:
    """The versions in which a player ran out of time."""
    history = await match.desk.store.history(match.game, 0, 1000)
    assert history is not None
    return [
        batch.version for batch in history.batches if any(isinstance(event, TurnTimedOut) for event in batch.events)
    ]


async def test_what_is_due_is_done_once_by_many(new_desk: Callable[[], Desk], clock: Time) -> None:
    """Of the looks of many servers at the same time, one does what is due in a game: each deadline fires once."""
    clocks = [Clock(new_desk(), 0.25) for _ in range(6)]
    matches = [await playing(new_desk(), limit=LIMIT) for _ in range(12)]
    await clocks[0].look()
    for _ in range(20):
        await asyncio.gather(*(each.look() for each in clocks))
        clock.now += 1_900
    for match in matches:
        fired = await time_outs(match)
        version = (await match.table()).version
        assert fired == list(range(fired[0], version + 1)), "each made the next version, and none was made twice"
        assert len(fired) == 3


async def test_what_one_claimed_and_did_not_do_another_does(
    new_desk: Callable[[], Desk], store: BusyStore, clock: Time
) -> None:
    """A server that ends after it has claimed a game leaves it to another, when its claim has ended."""
    dying, living = Clock(new_desk(), 0.25), Clock(new_desk(), 0.25)
    match = await playing(new_desk(), limit=LIMIT)

    async def dies(_table: Table) -> None:
        raise StoreUnavailable("the process has ended")

    clock.now += 10_000
    store.meanwhile = dies
    await dying.look()
    store.meanwhile = None
    waited = 0
    while not await time_outs(match):
        clock.now += 1_000
        waited += 1_000
        await living.look()
    assert waited == CLAIM_MS
    assert len(await time_outs(match)) == 1


async def test_a_fault_in_one_shard_leaves_the_others_alone(
    desk: Desk, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong in a look at one shard is logged and counted, and done at a later look."""
    match, counted = await playing(desk, limit=LIMIT), metrics.background_faults.labels("clock")._value
    look, before, broken = desk.store.look, counted.get(), [shard_of(match.game)]

    async def failing(shard: int, *args: object) -> object:
        if shard in broken:
            raise ZeroDivisionError
        return await look(shard, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(desk.store, "look", failing)
    clock.now += 10_000
    with capture_logs() as lines:
        await Clock(desk, 0.25).look()
    assert [(line["event"], line["work"]) for line in lines] == [("background_fault", "clock")]
    assert counted.get() == before + 1
    assert not await time_outs(match)
    broken.clear()
    await Clock(desk, 0.25).look()
    assert len(await time_outs(match)) == 1


async def test_a_fault_in_one_game_leaves_the_others_alone(
    desk: Desk, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong in one game keeps no other from what is due there."""
    bad, good = await playing(desk, limit=LIMIT), await playing(desk, limit=LIMIT)
    commit = desk.store.commit

    async def failing(table: Table, batch: Batch, *args: object, **kwargs: object) -> object:
        if table.game == bad.game:
            raise RuntimeError("unforeseen")
        return await commit(table, batch, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(desk.store, "commit", failing)
    clock.now += 10_000
    await Clock(desk, 0.25).look()
    assert (await time_outs(bad), len(await time_outs(good))) == ([], 1)


async def test_a_clock_that_finds_more_than_it_takes_says_so(desk: Desk, clock: Time) -> None:
    """Where more is due than one look takes, it is to look again at once, until all is done."""
    matches = [await playing(desk, limit=LIMIT) for _ in range(150)]
    clock.now += 10_000
    ticking = Clock(desk, 0.25)
    looks = 1
    while await ticking.look():
        looks += 1
    assert looks > 1
    for match in matches:
        assert len(await time_outs(match)) == 1


async def test_a_silent_shard_holds_up_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a look at one shard waits for its answer, the others are looked at as often as ever."""
    look, answering, others_often, again = desk.store.look, asyncio.Event(), asyncio.Event(), asyncio.Event()
    seen: Counter[int] = Counter()

    async def one_silent(shard: int, *rest: int) -> object:
        seen[shard] += 1
        if all(seen[other] >= 5 for other in range(SHARDS) if other != 3):
            others_often.set()
        if shard == 3:
            await answering.wait()
            if seen[3] == 2:
                again.set()
        return await look(shard, *rest)

    monkeypatch.setattr(desk.store, "look", one_silent)
    keeping = asyncio.create_task(Clock(desk, 0.001).keep())
    async with asyncio.timeout(60):
        await others_often.wait()
        assert seen[3] == 1
        answering.set()
        await again.wait()
    assert not keeping.done()
    keeping.cancel()
    await asyncio.wait([keeping])


async def test_it_goes_on_when_the_store_is_back(desk: Desk, clock: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be reached ends nothing: the next look does what is due."""
    match = await playing(desk, limit=LIMIT)
    clock.now += 10_000
    ticking = Clock(desk, 0.001)
    look = desk.store.look

    async def away(*_: object) -> NoReturn:
        raise StoreUnavailable("away")

    monkeypatch.setattr(desk.store, "look", away)
    assert not await ticking.look()
    monkeypatch.setattr(desk.store, "look", look)
    keeping = asyncio.create_task(ticking.keep())
    while not await time_outs(match):
        assert not keeping.done()
        await asyncio.sleep(0.01)
    keeping.cancel()
    await asyncio.wait([keeping])
    assert len(await time_outs(match)) == 1
