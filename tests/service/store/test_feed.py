"""The feed: every version once and in order, whatever the network loses."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from msgspec.structs import replace
from redis.cluster import RedisCluster
from structlog.testing import capture_logs

from service.embedded import EmbeddedRedis
from service.observability import metrics
from service.store.codec import encode_batch, encode_table
from service.store.errors import FellBehind, GameGone, HistoryLost, NewerTable, StoreUnavailable
from service.store.feed import FeedLimits
from service.store.history import Cursor, Fresh
from service.store.keys import Keys
from service.store.store import Options, Store
from service.store.table import SCHEMA, Batch, Table
from service.store.watch import Watch
from tests import servers
from tests.patience import patient
from tests.service.store.conftest import Connect
from tests.service.store.feeds import IDLE, held
from tests.service.store.rewind import bring_back, keep
from tests.service.store.tables import advanced, batch_of, committed, created, following


async def given(watch: Watch) -> Batch:
    """The next batch of a watch. One that never comes is a failure, not a test that hangs."""
    async with asyncio.timeout(60):
        return await anext(watch)


async def versions(watch: Watch, last: int) -> list[int]:
    """The versions that a watch gives, up to this one."""
    found: list[int] = []
    while not found or found[-1] < last:
        found.append((await given(watch)).version)
    return found


async def idle(store: Store) -> None:
    """Wait until the feed holds nothing."""
    async with asyncio.timeout(60):
        while held(store.feed) != IDLE:  # noqa: ASYNC110 - the feed tells nobody that it is idle
            await asyncio.sleep(0.01)


async def test_a_watch_gives_each_commit_of_any_process(connect: Connect) -> None:
    """What any process commits is given, equal to what was committed, in the order of versions."""
    here, there = await connect(), await connect()
    table = await created(there)
    async with here.feed.watch(table.game, table.version) as watch:
        for number in range(20):
            batch = batch_of(following(table), f"player {number}")
            before, table = table, await committed((here, there)[number % 2], following(table), batch)
            assert await given(watch) == replace(batch, mark=table.mark, before=before.mark)


async def test_a_watch_begins_after_the_version_it_is_told(store: Store) -> None:
    """From 0 it gives the whole history, and from any version what follows."""
    table = await created(store, versions=5)
    feed = store.feed
    async with (
        feed.watch(table.game, 0) as all_,
        feed.watch(table.game, 3) as some,
        feed.watch(table.game, table.version) as new,
    ):
        await advanced(store, table, 2)
        assert await versions(all_, 7) == [1, 2, 3, 4, 5, 6, 7]
        assert await versions(some, 7) == [4, 5, 6, 7]
        assert await versions(new, 7) == [6, 7]


async def test_a_long_history_is_read_in_pages(store: Store) -> None:
    """A watch from far back gives a history of several pages, and goes on with what is committed meanwhile."""
    table = await created(store, versions=230)
    async with store.feed.watch(table.game, 0) as watch:
        assert await versions(watch, 1) == [1]
        await advanced(store, table, 130)
        assert await versions(watch, 360) == list(range(2, 361))


async def test_a_watch_that_has_a_newer_table_is_given_nothing_twice(store: Store) -> None:
    """A watch from a version that the feed has not heard of yet gives only what follows that version."""
    table = await created(store)
    async with store.feed.watch(table.game, table.version) as first:
        table = await advanced(store, table, 1)
        async with store.feed.watch(table.game, table.version) as second:
            await advanced(store, table, 1)
            assert await versions(second, 3) == [3]
        assert await versions(first, 3) == [2, 3]


async def test_many_watch_over_one_subscription(store: Store, store_url: str) -> None:
    """A thousand who watch a game have one subscription to it, and when the last one leaves nothing is left."""
    table, other = await created(store), await created(store)
    await idle(store)
    channel = Keys("rummyd").of(table.game).feed
    async with asyncio.TaskGroup() as group:

        async def watch_until(last: int) -> None:
            async with store.feed.watch(table.game, 0) as watch:
                assert await versions(watch, last) == list(range(1, last + 1))

        tasks = [group.create_task(watch_until(10)) for _ in range(1000)]
        async with store.feed.watch(other.game, other.version):
            while held(store.feed).watches < 1001:  # noqa: ASYNC110 - nor how many watch
                await asyncio.sleep(0)
            table = await advanced(store, table, 4)
            assert subscribers(store_url, channel) == 1
            assert held(store.feed).games == 2
            await advanced(store, table, 5)
            await asyncio.wait(tasks)
            assert held(store.feed).games == 1
    await idle(store)
    assert subscribers(store_url, channel) == 0


def subscribers(url: str, channel: str) -> int:
    """The subscriptions to a channel, on the node that serves it."""
    with servers.client(url) as client:
        if isinstance(client, RedisCluster):
            node = client.get_node_from_key(channel)  # type: ignore[no-untyped-call]
            return subscribers(f"redis://{node.host}:{node.port}", channel)
        _, count = cast(list[int], client.pubsub_shardnumsub(channel)[0])
        return count


async def test_watches_that_come_and_go_leave_nothing(store: Store) -> None:
    """After watches have come and gone in any order, even cancelled at the door, no task and no line is left."""
    tables = [await created(store) for _ in range(8)]
    before = {task for task in asyncio.all_tasks() if task.get_name().startswith(("line", "feed"))}

    async def visit(number: int) -> None:
        async with store.feed.watch(tables[number % 8].game, tables[number % 8].version) as watch:
            await watch.next(0.001 * (number % 5))

    tasks = [asyncio.create_task(visit(number)) for number in range(200)]
    for number, task in enumerate(tasks):
        if number % 3 == 0:
            task.cancel()
        if number % 10 == 0:
            await asyncio.sleep(0)
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks if not task.cancelled()} == {type(None)}
    await idle(store)
    after = {task for task in asyncio.all_tasks() if task.get_name().startswith(("line", "feed"))}
    assert before == after == set()


async def test_a_fault_of_ours_is_no_end_of_catching_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other exception than the store's is logged and counted, and the history is read again all the same."""
    table, reader = await created(store, versions=3), store.feed._reader
    counted, read = metrics.background_faults.labels("feed")._value, reader.fresh
    before = counted.get()

    async def broken(cursors: Sequence[Cursor]) -> list[Fresh | None]:
        if counted.get() == before:
            raise ZeroDivisionError
        return await read(cursors)

    monkeypatch.setattr(reader, "fresh", broken)
    with capture_logs() as lines:
        async with store.feed.watch(table.game, 0) as watch:
            assert await versions(watch, 3) == [1, 2, 3]
    faults = [(line["log_level"], line["work"]) for line in lines if line["event"] == "background_fault"]
    assert faults == [("error", "feed")]
    assert counted.get() == before + 1


async def test_a_message_that_is_lost_is_read_from_the_history(store: Store, store_url: str) -> None:
    """Where a commit's message never arrives, the next one shows the gap, and both versions are given in order."""
    table = await created(store)
    async with store.feed.watch(table.game, table.version) as watch:
        table = commit_silently(store_url, table)
        table = commit_silently(store_url, table)
        assert await watch.next(0.05) is None
        await advanced(store, table, 1)
        assert await versions(watch, 4) == [2, 3, 4]


def commit_silently(url: str, table: Table) -> Table:
    """Commit the table's next version as the script does, but tell nobody."""
    table = following(table)
    keys = Keys("rummyd").of(table.game)
    with servers.client(url) as client:
        client.xadd(keys.history, {"batch": encode_batch(batch_of(table))}, id=f"{table.version}-0")
        client.hset(keys.game, mapping={"version": table.version, "table": encode_table(table)})
    return table


async def test_a_last_message_that_is_lost_is_found_by_the_check(connect: Connect, store_url: str) -> None:
    """Even where no later message shows the gap, the version is given: every game is checked now and then."""
    store = await connect(Options(feed=FeedLimits(check_s=0.1)))
    table = await created(store)
    async with store.feed.watch(table.game, table.version) as watch:
        commit_silently(store_url, table)
        assert await versions(watch, 2) == [2]


async def test_a_message_that_comes_twice_is_given_once(store: Store, store_url: str) -> None:
    """Messages of versions that were given before are passed over."""
    table = await created(store)
    keys = Keys("rummyd").of(table.game)
    async with store.feed.watch(table.game, table.version) as watch:
        second = await advanced(store, table, 1)
        with servers.client(store_url) as client:
            for repeated in (table, second, second):
                client.spublish(keys.feed, encode_batch(batch_of(repeated)))
        await advanced(store, second, 1)
        assert await versions(watch, 3) == [2, 3]


async def test_a_slow_reader_falls_behind_and_resumes_without_a_gap(connect: Connect) -> None:
    """A reader with more unread batches than there is room for is given those it has, then told where to resume."""
    store = await connect(Options(feed=FeedLimits(room=10)))
    table = await created(store)
    async with (
        store.feed.watch(table.game, table.version) as slow,
        store.feed.watch(table.game, table.version) as quick,
    ):
        for _ in range(30):
            table = await advanced(store, table, 1)
            await given(quick)
        assert await versions(slow, 11) == list(range(2, 12))
        with pytest.raises(FellBehind) as ended:
            await given(slow)
        assert ended.value.last_version == slow.last_version == 11
    async with store.feed.watch(table.game, ended.value.last_version) as again:
        assert await versions(again, 31) == list(range(12, 32))


async def test_a_history_that_was_trimmed_ends_the_watch(connect: Connect) -> None:
    """A watch from a version whose successor is no longer kept is told so before it is given anything."""
    store = await connect(Options(history=50))
    table = await created(store, versions=400)
    async with store.feed.watch(table.game, 1) as watch:
        with pytest.raises(HistoryLost) as ended:
            await given(watch)
        assert ended.value.last_version == 1


async def test_an_unknown_game_cannot_be_watched(store: Store) -> None:
    """A watch of a game that does not exist is refused at the door."""
    with pytest.raises(GameGone):
        async with store.feed.watch("nowhere", 0):
            pass
    await idle(store)


async def test_a_game_that_expires_ends_its_watches(connect: Connect, store_url: str) -> None:
    """When a watched game expires the check finds it, and its watches end."""
    store = await connect(Options(feed=FeedLimits(check_s=0.05)))
    table = await created(store)
    keys = Keys("rummyd").of(table.game)
    async with store.feed.watch(table.game, table.version) as watch:
        with servers.client(store_url) as client:
            client.delete(keys.game, keys.history)
        with pytest.raises(GameGone):
            await given(watch)
    await idle(store)


async def test_a_game_that_has_gone_back_ends_its_watches(connect: Connect, store_url: str) -> None:
    """Where the server has lost versions that were given already, watches are told to begin again."""
    store = await connect(Options(feed=FeedLimits(check_s=0.05)))
    table = await created(store, versions=3)
    keys = Keys("rummyd").of(table.game)
    async with store.feed.watch(table.game, 0) as watch:
        assert await versions(watch, 3) == [1, 2, 3]
        with servers.client(store_url) as client:
            client.hset(keys.game, "version", 2)
            client.xtrim(keys.history, maxlen=0, approximate=False)
        with pytest.raises(HistoryLost):
            await given(watch)


@pytest.mark.parametrize("check_s", [0.05, 3600.0], ids=["found by the check", "heard of"])
async def test_a_game_that_goes_another_way_ends_its_watches(connect: Connect, store_url: str, check_s: float) -> None:
    """Where another version has the number of one that was given, watches are told to begin again, and give no more."""
    store, elsewhere = await connect(Options(feed=FeedLimits(check_s=check_s))), await connect()
    first = await created(store)
    keys = Keys("rummyd").of(first.game)
    async with store.feed.watch(first.game, 0) as watch:
        kept = keep(store_url, keys)
        await committed(elsewhere, following(first, display_name="lost"))
        assert await versions(watch, 2) == [1, 2]
        bring_back(store_url, keys, kept)
        table = await committed(elsewhere, following(first))
        if check_s > 60:
            await committed(elsewhere, following(table))
        with pytest.raises(HistoryLost) as ended:
            await given(watch)
        assert ended.value.last_version == 2


async def test_a_watch_from_a_version_that_was_lost_ends(store: Store, store_url: str) -> None:
    """A watch with the mark of another version than the game has of that number is told to begin again, whether the
    game is at that number or beyond it; one with the right mark goes on.
    """
    first = await created(store)
    keys = Keys("rummyd").of(first.game)
    kept = keep(store_url, keys)
    lost = await committed(store, following(first))
    bring_back(store_url, keys, kept)
    table = await committed(store, following(first))
    async with store.feed.watch(first.game, 2, lost.mark) as watch:
        with pytest.raises(HistoryLost):
            await given(watch)
    await committed(store, following(table))
    async with store.feed.watch(first.game, 2, lost.mark) as watch:
        with pytest.raises(HistoryLost):
            await given(watch)
    async with store.feed.watch(first.game, 2, table.mark) as watch:
        assert await versions(watch, 3) == [3]


async def test_a_batch_of_a_newer_release_ends_the_watch(store: Store, store_url: str) -> None:
    """A batch that this release cannot know is refused, after those before it, whether it is heard or read."""
    table = await created(store)
    keys = Keys("rummyd").of(table.game)
    async with store.feed.watch(table.game, table.version) as watch:
        await advanced(store, table, 1)
        newer = encode_batch(replace(batch_of(following(following(table))), schema=SCHEMA + 1))
        with servers.client(store_url) as client:
            client.xadd(keys.history, {"batch": newer}, id="3-0")
            client.hset(keys.game, "version", 3)
            client.spublish(keys.feed, newer)
        assert await versions(watch, 2) == [2]
        with pytest.raises(NewerTable):
            await given(watch)
    async with store.feed.watch(table.game, 1) as watch:
        with pytest.raises(NewerTable):
            await given(watch)


async def test_waiting_with_a_limit_loses_nothing(store: Store) -> None:
    """A wait for a batch that is given up, by its own limit or by cancellation, leaves the batch to the next wait."""
    table = await created(store)
    async with store.feed.watch(table.game, table.version) as watch:
        assert await watch.next(0.01) is None
        for _ in range(20):
            waiting = asyncio.create_task(anext(watch))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        await advanced(store, table, 1)
        batch = await watch.next(60)
        assert batch is not None
        assert batch.version == 2


async def test_closing_the_store_ends_its_watches(connect: Connect) -> None:
    """When the store is closed watches end after what they have been given, and no new ones begin."""
    store, other = await connect(), await connect()
    table = await created(store)
    async with store.feed.watch(table.game, table.version) as watch:
        table = await advanced(other, table, 1)
        assert (await given(watch)).version == 2
        await store.close()
        with pytest.raises(StoreUnavailable):
            await given(watch)
    assert store.feed.closed
    with pytest.raises(StoreUnavailable):
        async with store.feed.watch(table.game, table.version):
            pass
    await idle(store)


async def test_a_watch_outlives_the_server(own_store: Store, embedded_redis: EmbeddedRedis) -> None:
    """While the server is killed and started again watches wait, and then go on without a gap, as do new commits."""
    table = await created(own_store, versions=2)
    quiet = await created(own_store)
    async with own_store.feed.watch(table.game, 0) as watch, own_store.feed.watch(quiet.game, quiet.version) as other:
        assert await versions(watch, 2) == [1, 2]
        embedded_redis.stop()
        with pytest.raises(StoreUnavailable):
            await own_store.load(table.game)
        embedded_redis.start()
        # Committed by another process, perhaps before this one has its line back.
        elsewhere = await Store.connect(embedded_redis.url, patient())
        table = await advanced(elsewhere, table, 3)
        assert await versions(watch, 5) == [3, 4, 5]
        embedded_redis.kill()
        embedded_redis.start()
        await advanced(own_store, table, 1)
        await advanced(elsewhere, quiet, 1)
        assert await versions(watch, 6) == [6]
        assert await versions(other, 2) == [2]
        await elsewhere.close()
    await idle(own_store)


async def test_no_watch_begins_while_the_server_is_away(
    own_store: Store, embedded_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first watch of a game needs the server, and says so in a moment; later it can be had."""
    table = await created(own_store)
    embedded_redis.stop()
    with monkeypatch.context() as hasty:
        hasty.setattr(own_store.feed, "_limits", FeedLimits(subscribe_s=0.5))
        with pytest.raises(StoreUnavailable):
            async with own_store.feed.watch(table.game, table.version):
                pass
    await idle(own_store)
    embedded_redis.start()
    async with own_store.feed.watch(table.game, 0) as watch:
        assert await versions(watch, 1) == [1]
