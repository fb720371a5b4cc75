"""Looks at what is due: each game is claimed by one of many, and time in which none is answered told as an outage."""

import asyncio

from service.store.due import CLAIM_MS, SILENCE_MS, Look
from service.store.keys import SHARDS, Keys, shard_of
from service.store.store import Store
from tests import servers
from tests.service.store.conftest import Connect
from tests.service.store.tables import batch_of, created, due_at, following, new_table

NOW = 1_800_000_000_000


async def looked(store: Store, now_ms: int, limit: int = 10) -> list[str]:
    """The games that looks at every shard find."""
    looks = await asyncio.gather(*(store.look(shard, now_ms, limit) for shard in range(SHARDS)))
    return [game for look in looks for game in look.games]


async def test_a_game_is_due_when_its_commit_says(store: Store) -> None:
    """A game is due from its time on, until a commit says otherwise."""
    soon = await due_at(store, NOW)
    await created(store)
    assert await looked(store, NOW - 1) == []
    assert await looked(store, NOW) == [soon.game]
    soon = following(soon)
    await store.commit(soon, batch_of(soon), due_ms=NOW + 900)
    assert await looked(store, NOW + 899) == []
    assert await looked(store, NOW + 900) == [soon.game]
    soon = following(soon)
    await store.commit(soon, batch_of(soon))
    assert await looked(store, NOW + 10 * CLAIM_MS) == []


async def test_the_longest_overdue_come_first(store: Store) -> None:
    """A look that may not take all takes those of the earliest times."""
    tables = [new_table(game) for game in ("a", *(f"a{number}" for number in range(200)))]
    tables = [table for table in tables if shard_of(table.game) == shard_of("a")][:5]
    for number, table in enumerate(tables):
        await due_at(store, NOW - number, table)
    found = [(await store.look(shard_of("a"), NOW, 2)).games for _ in range(3)]
    games = [table.game for table in reversed(tables)]
    assert found == [tuple(games[:2]), tuple(games[2:4]), tuple(games[4:])]


async def test_of_many_looks_one_claims(connect: Connect) -> None:
    """However many servers look at the same time, one alone is told of a game, until its claim has ended."""
    stores = [await connect() for _ in range(5)]
    table = await due_at(stores[0], NOW)
    shard = shard_of(table.game)
    looks = await asyncio.gather(*(store.look(shard, NOW, 10) for store in stores))
    assert sorted(look.games for look in looks) == [(), (), (), (), (table.game,)]
    assert (await stores[1].look(shard, NOW + CLAIM_MS - 1, 10)).games == ()
    assert (await stores[1].look(shard, NOW + CLAIM_MS, 10)).games == (table.game,)


async def test_a_claim_holds_from_the_last_answer(store: Store) -> None:
    """A look claims for as long as it would have when its server was last answered: one that nobody waits for any more,
    and that a stalled Redis still reads, holds up nobody for longer.
    """
    table = await due_at(store, NOW)
    shard, stalled = shard_of(table.game), NOW + CLAIM_MS - 1
    assert (await store.look(shard, stalled, 10, NOW)).games == (table.game,)
    assert (await store.look(shard, stalled, 10, NOW)).games == ()
    assert (await store.look(shard, stalled + 1, 10, NOW)).games == (table.game,)


async def test_silence_is_an_outage(store: Store) -> None:
    """Where no look was answered for longer than the bound, the time between is told by every look from then on."""
    assert (await store.look(3, NOW, 10)).outages == ()
    served = NOW + SILENCE_MS
    assert (await store.look(3, served, 10, served)).outages == ()
    back = served + SILENCE_MS + 1
    assert (await store.look(3, back, 10, back)).outages == ((served, back),)
    assert (await store.look(3, back + 1, 10, back)).outages == ((served, back),)
    assert (await store.look(4, back + 1, 10, back)).outages == ()


async def test_a_look_is_a_sign_of_life_once_it_is_answered(store: Store) -> None:
    """Looks whose answer nobody has had, however many of them are read, end no silence."""
    await store.look(3, NOW, 10)
    for late_ms in range(1_000, 5_000, 1_000):
        assert await store.look(3, NOW + late_ms, 10, NOW) == Look((), (), served_ms=NOW)
    back = NOW + 5_000
    assert await store.look(3, back + 1, 10, back) == Look((), ((NOW, back),), served_ms=back)


async def test_while_one_server_is_answered_there_is_no_outage(store: Store) -> None:
    """A server that was cut off or paused for a while, and comes back, makes no outage where others served."""
    for _ in range(3):
        await store.look(3, NOW, 10, NOW)
    for later_ms in range(0, 10_000, SILENCE_MS):
        await store.look(3, NOW + later_ms, 10, NOW + later_ms)
    assert (await store.look(3, NOW + 10_000, 10, NOW)).outages == ()
    assert (await store.look(3, NOW + 10_000, 10, NOW + 9_999)).outages == ()


async def test_a_clock_that_lags_makes_no_outage(store: Store) -> None:
    """The sign of life is the latest one, whatever the order in which servers look."""
    await store.look(3, NOW, 10, NOW)
    await store.look(3, NOW - SILENCE_MS, 10, NOW - SILENCE_MS)
    assert (await store.look(3, NOW + SILENCE_MS, 10, NOW + SILENCE_MS)).outages == ()


async def test_an_old_outage_is_forgotten(store: Store) -> None:
    """An outage is remembered for longer than a turn may last, and no longer."""
    await store.look(3, NOW, 10)
    assert len((await store.look(3, NOW + 10_000, 10, NOW + 10_000)).outages) == 1
    day = 24 * 3600 * 1000
    for number in range(1, 5):
        outages = (await store.look(3, NOW + number * day, 10, NOW + number * day)).outages
    assert outages[0][0] > NOW


async def test_what_is_gone_can_be_dropped(store: Store, store_url: str) -> None:
    """An expired game leaves nothing in the index once it is dropped there."""
    table = await due_at(store, NOW)
    keys = Keys("rummyd").of(table.game)
    with servers.client(store_url) as client:
        client.delete(keys.game, keys.history)
        await store.drop_due(table.game)
        assert client.zcard(keys.due) == 0
