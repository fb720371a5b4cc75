"""What becomes of commits and watches when a master fails and a replica takes its place."""

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from service.store.errors import BadAddress, StoreUnavailable
from service.store.feed import FeedLimits
from service.store.keys import SHARDS, shard_of
from service.store.link import Limits
from service.store.outcome import Answered, Committed, Request
from service.store.store import Options, Store
from tests.replicated import DOWN_MS, SETTLE_S, Servers, cluster_of_six, sentinel_trio
from tests.service.store.feeds import held
from tests.service.store.tables import batch_of, committed, created, following, new_table

KINDS: dict[str, Callable[[], AbstractContextManager[Servers]]] = {"sentinel": sentinel_trio, "cluster": cluster_of_six}
REQUEST = Request("0:7f", b"asked")
UNCONFIRMED = "0 of 1 replicas|no answer in"
"""The latter on a machine that stands still for longer than a call may take."""


@pytest.fixture(params=KINDS, scope="module")
def replicated(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Servers with replicas, whole at the beginning of each test."""
    with KINDS[request.param]() as servers:
        yield servers


def options(replicas: int = 0, call_s: float = 60.0) -> Options:
    """A store that never checks its games: what is not noticed is missed."""
    return Options(
        link=Limits(connect_s=call_s, call_s=call_s, replicas=replicas), feed=FeedLimits(subscribe_s=30, check_s=3600)
    )


async def test_a_commit_is_confirmed_by_replicas(replicated: Servers) -> None:
    """A commit that waits for a replica is answered as any other, also one that is sent again."""
    store = await Store.connect(replicated.url, options(replicas=1))
    table = await committed(store, following(await created(store)), request=REQUEST)
    assert await store.commit(table, batch_of(table), REQUEST) == Answered(2, same_payload=True)
    await store.close()


async def test_a_commit_that_no_replica_has_is_no_success(replicated: Servers) -> None:
    """Where no replica confirms a commit it is refused, each time that it is sent again, until one has it."""
    patient, store = [await Store.connect(replicated.url, options(1, call_s)) for call_s in (60.0, 1.0)]
    first = await created(patient)
    table = following(first)
    with replicated.severed():
        with pytest.raises(StoreUnavailable, match=UNCONFIRMED):
            await store.commit(table, batch_of(table), REQUEST)
        with pytest.raises(StoreUnavailable, match=UNCONFIRMED):
            await store.commit(table, batch_of(table), REQUEST)
        with pytest.raises(StoreUnavailable, match=UNCONFIRMED):
            await store.load(first.game, REQUEST)
    async with asyncio.timeout(SETTLE_S):
        while True:
            try:
                answer = await store.commit(table, batch_of(table), REQUEST)
                break
            except StoreUnavailable:  # the replicas wake up
                await asyncio.sleep(0.05)
    assert answer == Answered(2, same_payload=True)
    for each in (patient, store):
        await each.close()


async def test_shards_whose_replicas_are_away_are_lost(replicated: Servers) -> None:
    """Where commits wait for replicas, and none confirms, every shard is lost; where they do not wait, none is."""
    waiting = await Store.connect(replicated.url, options(replicas=1, call_s=1.0))
    not_waiting = await Store.connect(replicated.url, options())
    await none_is_lost(waiting)
    with replicated.severed():
        lost = await waiting.lost_shards()
        assert lost.keys() == set(range(SHARDS))
        assert all(re.search(UNCONFIRMED, reason) for reason in lost.values())
        assert await not_waiting.lost_shards() == {}
    await none_is_lost(waiting)
    for store in (waiting, not_waiting):
        await store.close()


async def none_is_lost(store: Store) -> None:
    """Waits until every shard takes commits: the replicas have to be awake for that, and the machine."""
    async with asyncio.timeout(60):
        while await store.lost_shards():  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.05)


async def test_calls_and_watches_follow_the_new_master(replicated: Servers) -> None:
    """After a failover commits go on, and every watch goes on from where it was; nothing that was confirmed is lost."""
    patient, store = [await Store.connect(replicated.url, options(1, call_s)) for call_s in (60.0, 1.0)]
    tables = [await created(patient, game_of(shard)) for shard in range(SHARDS)]  # so that every master has some
    watches = [asyncio.create_task(collect(store, table.game, 21)) for table in tables]
    async with asyncio.timeout(SETTLE_S):
        while held(store.feed).watches < len(tables):  # noqa: ASYNC110 - the feed tells nobody
            await asyncio.sleep(0.01)
        confirmed = dict.fromkeys([table.game for table in tables], 0)
        failed = asyncio.Event()
        playing = [asyncio.create_task(play(store, table.game, 20, confirmed, failed)) for table in tables]
        while min(confirmed.values()) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.to_thread(replicated.fail)
        failed.set()
        await asyncio.to_thread(replicated.heal)  # a cluster's master has one replica: without it nothing is confirmed
        assert max(await asyncio.gather(*playing)) >= DOWN_MS / 1000, "no commit has met the failover"
        assert await asyncio.gather(*watches) == [list(range(1, 22))] * len(tables)
    for each in (patient, store):
        await each.close()


def game_of(shard: int) -> str:
    """The id of a game that lies in this shard."""
    return next(game for _ in itertools.count() if shard_of(game := new_table().game) == shard)


async def play(store: Store, game: str, commits: int, confirmed: dict[str, int], failed: asyncio.Event) -> float:
    """So many commits, each sent until it is confirmed, and counted; gives how long the slowest of them took.

    The last is not begun before the master has failed.
    """
    longest = 0.0
    for number in range(commits):
        if number == commits - 1:
            await failed.wait()
        begun = time.monotonic()
        request = Request(f"0:{number}", b"asked")
        while True:
            try:
                loaded = await store.load(game, request)
                assert loaded is not None
                if loaded.answered:
                    break
                table = following(loaded.table)
                if isinstance(await store.commit(table, batch_of(table), request), Committed | Answered):
                    break
            except StoreUnavailable:
                await asyncio.sleep(0.05)
        longest = max(longest, time.monotonic() - begun)
        confirmed[game] += 1
        await asyncio.sleep(0.02)
    return longest


async def collect(store: Store, game: str, last: int) -> list[int]:
    """The versions that a watch from the start gives, up to this one."""
    found: list[int] = []
    async with store.feed.watch(game, 0) as watch:
        while not found or found[-1] < last:
            found.append((await anext(watch)).version)
    return found


@pytest.mark.parametrize("url", ["redis+sentinel://host:1", "redis+sentinel:///name", "redis+sentinel://host:x/name"])
async def test_an_address_of_sentinels_has_hosts_and_a_name(url: str) -> None:
    """An address without a Sentinel's host, with a bad port, or without the master's name, is refused."""
    with pytest.raises(BadAddress):
        await Store.connect(url)
