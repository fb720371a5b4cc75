"""Time in which nobody could be served: it counts for no player, however that came about, and no other time does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from service.clock import Clock
from service.embedded import EmbeddedRedis
from service.games.change import load
from service.games.desk import Desk
from service.games.seats import add_bot
from service.games.tick import tick
from service.store.due import SILENCE_MS, Look
from service.store.errors import StoreUnavailable
from service.store.keys import SHARDS
from service.store.link import Limits
from service.store.store import Options, Store
from service.store.table import TurnExtended, TurnLimit, TurnTimedOut
from service.store.watch import Watch
from tests.patience import patient
from tests.servers import free_ports, frozen
from tests.service.games.tables import BusyStore, Match, joined, opened, playing
from tests.service.games.tables import Clock as Time

LIMIT = TurnLimit(turn_ms=10_000, bank_ms=0, misses=50)


async def last_of(match: Match) -> object:
    """What has happened first in the newest version."""
    batch = await match.desk.store.batch(match.game, (await match.table()).version)
    assert batch is not None
    return batch.events[0]


class FarStore(BusyStore):
    """A store that one server alone may lose, and from which its answers may be long on their way."""

    cut_off = False
    on_its_way: Callable[[], Awaitable[None]] | None = None

    async def look(self, shard: int, now_ms: int, limit: int, answered_ms: int | None = None) -> Look:
        """Looks; then the answer is on its way, once."""
        if self.cut_off:
            raise StoreUnavailable("cut off")
        found = await super().look(shard, now_ms, limit, answered_ms)
        if self.on_its_way and found.games:
            on_its_way, self.on_its_way = self.on_its_way, None
            await on_its_way()
        return found


@pytest.fixture
def far(store: BusyStore) -> FarStore:
    """The same store, as another server has it."""
    return FarStore(store._link, store._options)


async def serve(clock: Time, seconds: int, *clocks: Clock) -> None:
    """So many seconds pass, while these look."""
    for _ in range(seconds):
        clock.now += 1_000
        for each in clocks:
            await each.look()


async def test_a_server_that_is_cut_off_makes_no_outage(desk: Desk, far: FarStore, clock: Time) -> None:
    """While one server serves, time counts, though another cannot reach the store; also once that one is back."""
    match = await playing(desk, limit=LIMIT)
    ours, theirs = Clock(desk, 0.25), Clock(Desk(far, clock), 0.25)
    await serve(clock, 1, ours, theirs)
    far.cut_off = True
    await serve(clock, 8, ours, theirs)
    far.cut_off = False
    await theirs.look()
    await serve(clock, 1, theirs)
    assert isinstance(await last_of(match), TurnTimedOut)
    assert [each._desk.outages.within(match.game, 0, clock.now) for each in (ours, theirs)] == [0, 0]


@pytest.mark.parametrize(("others_serve", "event"), [(True, TurnTimedOut), (False, TurnExtended)])
async def test_an_answer_that_comes_late_is_an_outage_unless_others_served(
    desk: Desk, far: FarStore, clock: Time, others_serve: bool, event: type[object]
) -> None:
    """A look that is answered late, as its server was paused or Redis silent, ends an outage only where no other server
    was answered meanwhile; what it found is judged once that is known.
    """
    match = await playing(desk, limit=LIMIT)
    ours, theirs = Clock(desk, 0.25), Clock(Desk(far, clock), 0.25)
    await serve(clock, 9, ours, theirs)
    far.on_its_way = lambda: serve(clock, 4, *[ours] * others_serve)
    await serve(clock, 1, theirs)
    assert isinstance(await last_of(match), event)


async def test_looks_that_were_given_up_end_no_outage(desk: Desk, far: FarStore, clock: Time) -> None:
    """What a server asked of a silent Redis, and gave up, is read when Redis goes on: the silence is one, and whole."""
    match = await playing(desk, limit=LIMIT)
    ours, deadline_ms = Clock(Desk(far, clock), 0.25), clock.now + LIMIT.turn_ms
    await serve(clock, 8, ours)
    answered_ms, given_up = clock.now, list[int]()
    far.cut_off = True
    for _ in range(4):
        await serve(clock, 1, ours)
        given_up.append(clock.now)
    far.cut_off = False
    for shard in range(SHARDS):
        for asked_ms in given_up:
            await desk.store.look(shard, asked_ms, 8, answered_ms)
    await serve(clock, 1, ours)
    while not isinstance(event := await last_of(match), TurnExtended):
        await serve(clock, 1, ours)
    assert event.deadline_ms == deadline_ms + 5_000


@asynccontextmanager
async def stalled(redis: EmbeddedRedis, clock: Clock, seconds: float) -> AsyncIterator[tuple[int, int]]:
    """The first and the last ms of a time in which Redis, that lives, said nothing to anybody."""
    now_ms = clock._desk.now_ms
    first = now_ms()
    with frozen(redis):
        looking = asyncio.create_task(clock.keep())
        await asyncio.sleep(seconds)
        last = now_ms()
    try:
        yield first, last
    finally:
        looking.cancel()
        await asyncio.wait([looking])


async def left_after(seconds: float) -> tuple[int, int]:
    """How many ms a player had left of his turn when Redis stalled for so long, and how many he had after it."""
    with EmbeddedRedis() as redis:
        store, steady = await Store.connect(redis.url), await Store.connect(redis.url, patient())
        clock = Clock(Desk(store), 0.25)  # impatient as a server is: looks that meet the silence are given up
        match = await playing(Desk(steady), limit=TurnLimit(turn_ms=2_000, bank_ms=0, misses=50))
        await clock.look()
        while (due_ms := (await match.table()).clock.due_ms) < clock._desk.now_ms():  # type: ignore[union-attr]
            await clock.look()  # on a machine that takes seconds for this it is the next turn, or the one after
        version = (await match.table()).version
        async with stalled(redis, clock, seconds) as (first, last), steady.feed.watch(match.game, version) as watch:
            fired_ms = await time_out(watch)
        for each in (store, steady):
            await each.close()
    return due_ms - first, fired_ms - last


async def time_out(watch: Watch) -> int:
    """When a turn's time was next up."""
    async for batch in watch:
        if isinstance(batch.events[0], TurnTimedOut):
            return batch.time_ms
    raise AssertionError("a watch ends by raising")


async def test_a_redis_that_is_silent_and_lives_takes_no_time() -> None:
    """However long Redis has stalled, a player has as much of his turn after it as he had before."""
    lengths = [SILENCE_MS / 1000 + more for more in (1.0, 1.9, 2.25, 2.35)]
    for before, after in await asyncio.gather(*map(left_after, lengths)):
        assert after >= before


@pytest.fixture
async def unconfirmed(clock: Time) -> AsyncIterator[tuple[Match, Desk, EmbeddedRedis]]:
    """A match with a limit and a bot, the desk of a server that waits for a replica, and that, not yet started."""
    port, other = free_ports(2)
    options = ["--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", "--port"]
    follower = EmbeddedRedis(options=[*options, str(other), "--replicaof", "127.0.0.1", str(port)])
    with EmbeddedRedis(options=[*options, str(port)]) as master:
        steady = await Store.connect(master.url, patient())
        cautious = await Store.connect(master.url, Options(link=Limits(replicas=1)))
        desk = Desk(steady, clock)
        table = await opened(desk, 3, limit=LIMIT, deals=1)
        tokens = await joined(desk, table.game, 2)
        await add_bot(desk, table.game, tokens[0], display_name="", seat=None, request_id="")
        try:
            yield Match(desk, table.game, tokens), Desk(cautious, clock), follower
        finally:
            follower.close()
            await cautious.close()
            await steady.close()


async def test_no_time_is_up_while_replicas_are_missing(
    unconfirmed: tuple[Match, Desk, EmbeddedRedis], clock: Time
) -> None:
    """While too few replicas confirm what is written no call succeeds: no turn runs out, and it is longer after it."""
    match, desk, replica = unconfirmed
    looks, began, version = Clock(desk, 0.25), clock.now, (await match.table()).version
    replica.start()
    while len(looks._answered) < SHARDS:
        await looks.look()  # it waits for the replica
    replica.kill()
    for _ in range(3):
        clock.now += 5_000
        await looks.look()
    assert (await match.table()).version == version
    replica.start()
    async with asyncio.timeout(60), match.desk.store.feed.watch(match.game, version) as watch:
        extended = asyncio.create_task(anext(watch))
        while not extended.done():
            await looks.look()
    assert extended.result().events == (TurnExtended(0, began + 15_000 + LIMIT.turn_ms),)


async def test_what_was_not_confirmed_is_looked_at_again(
    unconfirmed: tuple[Match, Desk, EmbeddedRedis], clock: Time
) -> None:
    """A change that no replica has confirmed may be there: the next is decided on what is stored, not on memory."""
    match, desk, _ = unconfirmed
    version = (await load(desk, match.game)).version
    for more in (1, 2):
        clock.now += LIMIT.turn_ms
        async with asyncio.timeout(60):
            while (await match.table()).version < version + more:  # a machine at a standstill may not have sent it
                with pytest.raises(StoreUnavailable, match=r"0 of 1 replicas|no answer in"):
                    await tick(desk, match.game)
        assert (await match.table()).version == version + more
