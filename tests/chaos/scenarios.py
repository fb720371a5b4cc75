"""What is broken on purpose, and what must hold meanwhile. Each scenario plays whole matches, and gives its figures.

A scenario takes the folder to work in and its scale: the short round of the tests is the long one of `make chaos`, in
small. Whatever a promise forbids is an AssertionError that names it.
"""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from service.embedded import EmbeddedRedis
from service.store.keys import Keys
from service.store.store import Options, Store
from tests import servers
from tests.chaos.check import Truth, faults, lost, misled
from tests.chaos.fleet import Fleet, fleet
from tests.chaos.load import PATIENCE_S, Hand, Plan, play_table
from tests.chaos.record import TableRecord, Watched
from tests.chaos.seating import Seating
from tests.e2e.players import game_of
from tests.patience import patient
from tests.replicated import Servers, cluster_of_six, sentinel_trio

ALWAYS: Final = ("--appendfsync", "always")
"""Redis forces every write to the disk before it answers."""


@dataclass(frozen=True)
class Scale:
    """How much is played: tables at once, and seconds for which things are broken and new tables are begun."""

    tables: int
    seconds: float
    churn: int
    """Tables that are created, played at and left to expire."""
    nonsense: int
    """Random acts, as far as they can be sent in `most_s` seconds."""
    most_s: float


SHORT: Final = Scale(tables=3, seconds=4.0, churn=200, nonsense=1_000, most_s=5.0)
LONG: Final = Scale(tables=8, seconds=25.0, churn=10_000, nonsense=1_000_000, most_s=60.0)


@dataclass
class Figures:
    """What a scenario came to."""

    name: str
    records: list[TableRecord] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    """What was broken, in words, and how often."""
    lost: int = 0
    """Acts that were acknowledged and do not stand in the history."""
    tables: int = 0
    """Tables played without a record of theirs, and the acts at them."""
    other_acts: int = 0
    unasked: int = 0
    """Versions that the clock has made: moves of bots, and turns whose time was up."""

    @property
    def acts(self) -> int:
        """Acknowledged acts."""
        return self.other_acts + sum(len(record.acknowledged) for record in self.records)

    @property
    def given_up(self) -> int:
        """Acts that failed in spite of the client's retry."""
        return sum(ask.given_up is not None for record in self.records for ask in record.asks)


async def servers_killed(folder: Path, scale: Scale) -> Figures:
    """A server of three is killed every second in which another lives; each is started again at once."""
    with EmbeddedRedis() as redis:
        async with fleet(folder, redis.url) as ours:

            async def kill_on() -> None:
                async with asyncio.TaskGroup() as starting, _seconds(scale) as left:
                    while left() or ours.kills < 3:
                        if len(ours.up) > 1:
                            starting.create_task(ours.kill(ours.up[0]))
                        await asyncio.sleep(1.0)

            name = "SIGKILL of one of three servers every second, while another is up"
            figures = await under_load(name, ours, redis.url, scale, kill_on)
            figures.broken["servers killed"] = ours.kills
            return figures


async def redis_killed(folder: Path, scale: Scale) -> Figures:
    """Redis, which forces every write to the disk, is killed every two seconds and started again."""
    kills = 0
    with EmbeddedRedis(folder / "redis", ALWAYS) as redis:

        async def kill_on() -> None:
            nonlocal kills
            async with _seconds(scale) as left:
                while left() or kills < 2:
                    await asyncio.sleep(1.5)
                    kills += 1
                    await asyncio.to_thread(redis.kill)
                    await asyncio.sleep(0.5)
                    await asyncio.to_thread(redis.start)

        async with fleet(folder, redis.url) as ours:
            name = "SIGKILL of Redis (append-only file, fsync always) every two seconds"
            figures = await under_load(name, ours, redis.url, scale, kill_on)
            figures.broken["Redis killed"] = kills
            return figures


async def redis_silent(folder: Path, scale: Scale) -> Figures:
    """Redis is stopped for three to four and a half seconds, and goes on: that time counts against nobody.

    The looks that were given up meanwhile, by all servers, are read when it does.
    """
    silences: list[tuple[int, int]] = []
    with EmbeddedRedis() as redis:

        async def stop_on() -> None:
            async with _seconds(scale) as left:
                for seconds in itertools.cycle((4.3, 3.1, 3.9, 4.4)):
                    await asyncio.sleep(2.0)
                    if not left() and silences:
                        return
                    with servers.frozen(redis):
                        begun_ms = _now_ms()
                        await asyncio.sleep(seconds)
                        silences.append((begun_ms, _now_ms()))

        async with fleet(folder, redis.url) as ours:
            name = "SIGSTOP of Redis for three to four and a half seconds, again and again"
            figures = await under_load(name, ours, redis.url, scale, stop_on, timed=1.0, silences=silences)
            figures.broken["silences"] = len(silences)
            return figures


async def rolling_restart(folder: Path, scale: Scale) -> Figures:
    """Three servers are asked to stop and started again, one after the other: no act fails that is retried."""
    with EmbeddedRedis() as redis:
        async with fleet(folder, redis.url) as ours:

            async def roll() -> None:
                async with _seconds(scale) as left:
                    while left() or ours.restarts < 3:
                        await ours.restart(ours.up[0])

            figures = await under_load("Rolling restart of three servers", ours, redis.url, scale, roll)
            figures.broken["servers restarted"] = ours.restarts
            return figures


async def sentinel_failover(folder: Path, scale: Scale) -> Figures:
    """The master of a Sentinel trio is killed, again and again; every act is confirmed by both replicas."""
    with sentinel_trio(folder) as redis:
        return await _failovers("Failover of a Sentinel trio, both replicas waited for", redis, folder, scale, 2)


async def cluster_failover(folder: Path, scale: Scale) -> Figures:
    """A master of a cluster of three masters and three replicas is killed, again and again; as with Sentinel."""
    with cluster_of_six() as redis:
        return await _failovers("Failover in a Cluster of 3 + 3, one replica waited for", redis, folder, scale, 1)


async def _failovers(name: str, redis: Servers, folder: Path, scale: Scale, replicas: int) -> Figures:
    fails = 0

    async def fail_on() -> None:
        nonlocal fails
        async with _seconds(scale) as left:
            while left():
                await asyncio.sleep(1.0)
                fails += 1
                await asyncio.to_thread(redis.fail)
                await asyncio.to_thread(redis.heal)

    async with fleet(folder, redis.url, "--redis-replicas", str(replicas)) as ours:
        figures = await under_load(name, ours, redis.url, scale, fail_on, forked=True)
        figures.broken["masters killed"] = fails
        return figures


async def stale_failover(folder: Path, scale: Scale, replicas: int) -> Figures:
    """Acts are sent while all replicas are down; then the master dies, and a replica that missed them takes its place.

    What was acknowledged meanwhile is lost where no replica is waited for: that is what asynchronous replication costs.
    Where one is waited for nothing is acknowledged, so that nothing is lost. Watchers have been told of it either way:
    they are shown the table again, some over a stream that was lost with its server, and follow it to its end.
    """
    waited = "one replica waited for" if replicas else "no replica waited for"
    figures = Figures(f"Replicas down, then failover of a Sentinel trio, {waited}")
    with sentinel_trio(folder) as redis:
        async with fleet(folder, redis.url, "--redis-replicas", str(replicas), size=2) as ours:
            async with asyncio.TaskGroup() as watching:
                hands = [await _watched_table(ours, number, figures, watching) for number in range(scale.tables)]
                await asyncio.to_thread(redis.kill_replicas)
                for hand in hands:
                    await hand.act_some(4, patience_s=0.5 if replicas else PATIENCE_S)
                await asyncio.gather(*(hand.told() for hand in hands))
                figures.broken["masters killed"] = 1
                await asyncio.to_thread(redis.fall_back)
                await asyncio.to_thread(redis.heal)
                await ours.kill(ours.up[0])
                for hand in hands:
                    watching.create_task(hand.play())
            store = await Store.connect(redis.url, patient())
            found: list[str] = []
            for record in figures.records:
                truth = await truth_of(store, redis.url, record.game)
                figures.lost += len(lost(record, truth))
                found += faults(record, truth, forked=True) if replicas else misled(record, truth)
            await store.close()
    assert not found, f"{len(found)} promises broken:\n" + "\n".join(found[:20])
    return figures


async def _watched_table(ours: Fleet, number: int, figures: Figures, watching: asyncio.TaskGroup) -> Hand:
    """A table whose match has begun, watched from every seat and by a spectator."""
    record = TableRecord(watched=[Watched(0), Watched(1), Watched(None)])
    figures.records.append(record)
    chance = random.Random(number)  # noqa: S311 - a player
    hand = Hand(ours.any, chance, record)
    await Seating(ours.any, chance, record).join(game_of(2, deals=1))
    begun = asyncio.Barrier(len(record.watched) + 1)
    for watched in record.watched:
        watching.create_task(hand.watch(watched, begun))
    await begun.wait()
    await hand.act_some(4)
    return hand


async def under_load(
    name: str,
    ours: Fleet,
    redis_url: str,
    scale: Scale,
    break_things: Callable[[], Awaitable[None]],
    *,
    forked: bool = False,
    timed: float = 0.4,
    silences: Sequence[tuple[int, int]] = (),
) -> Figures:
    """Plays match after match at so many tables for as long as things are broken; then checks them all.

    What is broken is whole again before the last matches are played to their ends. `timed` is the share of tables
    with a turn limit; the time in `silences` is to count for no turn there.
    """
    figures = Figures(name)
    over = asyncio.Event()

    async def table_after_table(number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - a player
        plan = _plan(chance, timed)
        while not over.is_set():
            record = TableRecord()
            figures.records.append(record)
            await play_table(ours.any, plan, chance, record)
            again = record.left is None and chance.random() < 0.5
            plan = replace(plan, again=record) if again else _plan(chance, timed)

    async with asyncio.TaskGroup() as group:
        for number in range(scale.tables):
            group.create_task(table_after_table(number))
        await break_things()
        over.set()
    await check(figures, redis_url, forked=forked, silences=silences)
    return figures


@asynccontextmanager
async def _seconds(scale: Scale) -> AsyncIterator[Callable[[], bool]]:
    """What says whether some of the scale's seconds are left."""
    loop = asyncio.get_running_loop()
    end = loop.time() + scale.seconds
    yield lambda: loop.time() < end


async def check(figures: Figures, redis_url: str, *, forked: bool, silences: Sequence[tuple[int, int]] = ()) -> None:
    """Holds all that was told to all that is stored; see `faults`."""
    found: list[str] = []
    store = await Store.connect(redis_url, patient())
    try:
        for record in figures.records:
            truth = await truth_of(store, redis_url, record.game)
            figures.lost += len(lost(record, truth))
            figures.unasked += len(truth.unasked)
            found += faults(record, truth, forked=forked, silences=silences)
    finally:
        await store.close()
    assert not found, f"{len(found)} promises broken:\n" + "\n".join(found[:20])
    assert not figures.given_up, f"{figures.given_up} acts failed in spite of all retries"


async def truth_of(store: Store, redis_url: str, game: str) -> Truth:
    """What is stored of a game."""
    loaded = await store.load(game)
    history = await store.history(game, 0, 100_000)
    assert loaded is not None, f"games/{game} is gone"
    assert history is not None
    return Truth(
        loaded.table,
        list(history.batches),
        await store.record(game),
        await asyncio.to_thread(_requests, redis_url, game),
    )


def _requests(redis_url: str, game: str) -> dict[str, int]:
    """The version that each request has made, by its key; none of those that found nothing to do."""
    with servers.client(redis_url) as client:
        fields = cast(dict[bytes, bytes], client.hgetall(Keys(Options().namespace).of(game).game))
    prefix = b"request:"
    return {
        name.removeprefix(prefix).decode(): version
        for name, value in fields.items()
        if name.startswith(prefix) and (version := int(value.partition(b":")[0]))
    }


def _plan(chance: random.Random, timed: float) -> Plan:
    """A short match, of any kind: this share of them with a turn limit, some with a bot, some of QuickJoin."""
    preset = chance.choice(["basic", "basic", "rummy500"])
    game = game_of(chance.randint(2, 4), preset, deals=1)
    bots = int(chance.random() < 0.3)
    leaves = game.seat_count - bots > 1 and chance.random() < 0.15
    if chance.random() < timed:
        game.turn_limit.turn.FromSeconds(1)
        game.turn_limit.bank.FromSeconds(1)
        game.turn_limit.misses = 2
        return Plan(game, bots, slow_s=2.0, leaves=leaves)
    if chance.random() < 0.3:
        game.turn_limit.turn.FromSeconds(3_600 + chance.randrange(80_000))  # never up, and alike no other's
        return Plan(game, quick=True, leaves=leaves)
    return Plan(game, bots, leaves=leaves)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
