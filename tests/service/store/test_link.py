"""The way to the server: what it costs, and what becomes of a call when the network fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import ClusterDownError, InvalidResponse, RedisClusterException, ResponseError

from service.embedded import EmbeddedRedis
from service.observability import metrics
from service.store import line
from service.store.errors import ServerTooOld, StoreUnavailable
from service.store.feed import FeedLimits
from service.store.keys import PHASES
from service.store.link import Limits
from service.store.outcome import Answered, Committed, Conflict, Created, Request
from service.store.store import Options, Store
from service.store.table import Table
from tests.patience import patient
from tests.service.store.conftest import Connect
from tests.service.store.proxy import Proxy
from tests.service.store.tables import advanced, batch_of, committed, created, following, new_table

REQUEST = Request("0:7f", b"asked")


@pytest.fixture
async def proxy(embedded_redis: EmbeddedRedis, tmp_path: Path) -> AsyncIterator[Proxy]:
    """The network between the store of the test and its server."""
    async with Proxy(embedded_redis.url, tmp_path) as proxy:
        yield proxy


@pytest.fixture
async def far_store(proxy: Proxy) -> AsyncIterator[Store]:
    """A store beyond the proxy. It never checks its games: what is not noticed is missed."""
    store = await Store.connect(proxy.url, patient(Options(feed=FeedLimits(check_s=3600))))
    yield store
    await store.close()


@pytest.fixture
async def hasty_store(proxy: Proxy) -> AsyncIterator[Store]:
    """As well, with little patience but for the beginning of a watch."""
    limits = Limits(connect_s=0.3, call_s=0.3)
    store = await Store.connect(proxy.url, patient(Options(link=limits, feed=FeedLimits(check_s=3600))))
    yield store
    await store.close()


async def test_an_old_server_is_refused(tmp_path: Path) -> None:
    """A server before Redis 7.0 is refused at once, with its version."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            info = b"# Server\r\nredis_version:6.2.14\r\n"
            asks_info = b"INFO\r\n" in data and b"SETINFO" not in data
            writer.write(b"$%d\r\n%b\r\n" % (len(info), info) if asks_info else b"+OK\r\n" * data.count(b"SETINFO"))
        writer.close()

    path = tmp_path / "old.sock"
    async with await asyncio.start_unix_server(serve, path):
        with pytest.raises(ServerTooOld, match=r"6\.2\.14"):
            await Store.connect(f"unix://{path}")


async def test_nothing_is_written_where_memory_is_full(own_store: Store, embedded_redis: EmbeddedRedis) -> None:
    """A server whose memory is full refuses new tables and commits, whole, and loses nothing."""
    table, new = await created(own_store), new_table()
    async with Redis.from_url(embedded_redis.url) as redis:
        before = await redis.dbsize()
        await redis.config_set("maxmemory", 1)
        for write in (
            own_store.create(new, batch_of(new)),
            own_store.commit(following(table), batch_of(following(table))),
        ):
            with pytest.raises(StoreUnavailable, match="maxmemory"):
                await write
        assert await redis.dbsize() == before
        assert (await own_store.census(table.updated_ms)).tables == dict.fromkeys(PHASES, 0) | {"open": 1}
        assert (await own_store.load(table.game)).table == table  # type: ignore[union-attr]
        await redis.config_set("maxmemory", 0)
    assert (await committed(own_store, following(table))).version == 2
    assert isinstance(await own_store.create(new, batch_of(new)), Created)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ResponseError("OOM command not allowed when used memory > 'maxmemory'."), "OOM command not allowed"),
        (ResponseError("NOREPLICAS Not enough good replicas to write."), "NOREPLICAS Not enough good replicas"),
        (ClusterDownError("CLUSTERDOWN The cluster is down"), "CLUSTERDOWN The cluster is down"),
        (ResponseError("ERR unknown command 'X', with args beginning with: 's3cret' "), "unknown command 'X'"),
        (ResponseError("Command # 1 (GET s3cret\ns3cret) of pipeline caused error: LOADING it"), "LOADING it"),
        (RedisClusterException("No way to dispatch this command.\nCommand: s3cret"), "No way to dispatch"),
        (InvalidResponse("Protocol Error: b's3cret'"), "InvalidResponse"),
        (ResponseError("x" * 201 + "s3cret"), "x" * 200),
        (TimeoutError(), "TimeoutError"),
        (RuntimeError("unable to perform operation on <UnixTransport>: s3cret"), "closed while it was in use"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_went_wrong_is_told_without_what_was_sent(own_store: Store, error: Exception, said: str) -> None:
    """A store that cannot be had says why in the words of Redis, and repeats nothing that was sent or stored."""

    async def send() -> None:
        raise error

    with pytest.raises(StoreUnavailable) as told:
        await own_store._link.call("test", [], send)
    assert said in str(told.value)
    assert "s3cret" not in str(told.value)


async def test_each_call_is_one_round_trip(far_store: Store, proxy: Proxy) -> None:
    """A commit, a load, a page of history and a batch cost one round trip each, and a conflict no more than that."""
    table = await created(far_store, versions=5)
    after = following(table)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: far_store.commit(after, batch_of(after), REQUEST),
        lambda: far_store.commit(after, batch_of(after)),
        lambda: far_store.load(table.game, REQUEST),
        lambda: far_store.history(table.game, 2, 10),
        lambda: far_store.batch(table.game, 3),
    ]
    costs = []
    for call in calls:
        before = proxy.round_trips
        await call()
        costs.append(proxy.round_trips - before)
    assert costs == [1, 1, 1, 1, 1]


async def test_a_page_of_tables_is_two_round_trips(far_store: Store, proxy: Proxy) -> None:
    """A listing asks all shards at once, then for all its tables at once."""
    for _ in range(10):
        await created(far_store)
    before = proxy.round_trips
    assert len((await far_store.open_tables(5)).tables) == 5
    assert proxy.round_trips - before == 2


@pytest.mark.parametrize("request_", [None, REQUEST])
async def test_a_commit_whose_answer_is_lost_is_made_once(
    far_store: Store, proxy: Proxy, request_: Request | None
) -> None:
    """Where the connection breaks after the commit but before its answer, the call finds out that it was made."""
    first = await created(far_store)
    second = following(first)
    proxy.cuts = 1
    second = await committed(far_store, second, request=request_)
    assert proxy.cuts == 0
    assert (await far_store.history(first.game, 0, 10)).last_version == 2  # type: ignore[union-attr]
    third = following(second)
    outcome = await far_store.commit(third, batch_of(third), REQUEST)
    assert outcome == Answered(2, True) if request_ else isinstance(outcome, Committed)


async def _lost_and_followed(
    far: Store, near: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, after: int
) -> Table:
    """Begins a game whose next commit loses its answer, and is followed by so many before it is sent again."""
    first = await created(near)

    async def meanwhile() -> None:
        loaded = await near.load(first.game)
        assert loaded is not None
        await advanced(near, loaded.table, after)

    await far.exists(first.game)  # it is connected
    monkeypatch.setattr(far._link, "_find_anew", meanwhile)
    proxy.cuts = 1
    return first


async def test_a_commit_that_others_have_followed_is_known_when_it_is_sent_again(
    far_store: Store, own_store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others commit before a commit whose answer was lost is sent again, it is made once, and no conflict."""
    first = await _lost_and_followed(far_store, own_store, proxy, monkeypatch, 3)
    second = following(first, display_name="mine")
    assert (await committed(far_store, second)).display_name == "mine"
    history = await own_store.history(first.game, 0, 10)
    assert history is not None
    assert history.last_version == 5


async def test_a_commit_that_is_kept_no_more_is_no_conflict(
    far_store: Store, own_store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, embedded_redis: EmbeddedRedis
) -> None:
    """Where the history does not reach back to a commit that is sent again, nobody can tell: the store is away."""
    first = await _lost_and_followed(far_store, own_store, proxy, monkeypatch, 1)
    meanwhile = far_store._link._find_anew

    async def trimmed() -> None:
        await meanwhile()
        async with Redis.from_url(embedded_redis.url) as redis:
            await redis.xtrim(far_store._keys.of(first.game).history, maxlen=1, approximate=False)

    monkeypatch.setattr(far_store._link, "_find_anew", trimmed)
    with pytest.raises(StoreUnavailable, match="too short to tell"):
        await far_store.commit(following(first), batch_of(following(first)))


async def test_a_commit_that_lost_is_no_success_when_it_is_sent_again(far_store: Store, proxy: Proxy) -> None:
    """Where the answer that was lost was a conflict, sending it again is one, too."""
    first = await created(far_store)
    second = await advanced(far_store, first, 1)
    proxy.cuts = 1
    late = following(first, display_name="late")
    assert await far_store.commit(late, batch_of(late)) == Conflict(second)


async def test_a_call_that_is_sent_again_is_counted(far_store: Store, proxy: Proxy) -> None:
    """The metrics tell how often a call was sent a second time, by operation, whatever became of it then."""
    counted, link = metrics.store_resends.labels("ping")._value, far_store._link
    assert await link.call("ping", [], link.client.ping)
    assert counted.get() == 0
    proxy.cuts = 1
    assert await link.call("ping", [], link.client.ping)
    assert counted.get() == 1
    proxy.cuts = 2
    with pytest.raises(StoreUnavailable):
        await link.call("ping", [], link.client.ping)
    assert counted.get() == 2


async def test_a_call_is_sent_twice_at_most(far_store: Store, proxy: Proxy) -> None:
    """Where the connection breaks again, the call is given up; a request finds out later what became of it."""
    second = following(await created(far_store))
    proxy.cuts = 2
    with pytest.raises(StoreUnavailable):
        await far_store.commit(second, batch_of(second), REQUEST)
    assert await far_store.commit(second, batch_of(second), REQUEST) == Answered(2, same_payload=True)


async def test_a_silent_server_is_given_up_in_time(
    far_store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that does not answer is waited for once, for as long as the setting says, and used again afterwards."""
    table = await created(far_store)
    proxy.silent = True
    started = asyncio.get_running_loop().time()
    with monkeypatch.context() as hasty:
        hasty.setattr(far_store._link, "_call_s", 0.3)
        with pytest.raises(StoreUnavailable, match=r"no answer in 0\.3 s"):
            await far_store.load(table.game)
    assert 0.3 <= asyncio.get_running_loop().time() - started < 30
    async with asyncio.timeout(60):
        while not proxy.swallowed:  # noqa: ASYNC110 - what was sent may still be on its way
            await asyncio.sleep(0.01)
    assert proxy.swallowed == 1
    proxy.silent = False
    assert await far_store.load(table.game) is not None


async def test_calls_of_a_crowd_that_meets_a_silent_server_end_in_time(proxy: Proxy) -> None:
    """However many calls wait for a connection, each is given up after the time that a whole call may take."""
    store = await Store.connect(proxy.url, Options(link=Limits(connect_s=1.0, call_s=1.0, connections=4)))
    proxy.silent = True
    started = asyncio.get_running_loop().time()
    outcomes = await asyncio.gather(*(store.exists("any") for _ in range(40)), return_exceptions=True)
    assert asyncio.get_running_loop().time() - started < 8
    assert {str(outcome) for outcome in outcomes} == {"Redis: no answer in 1 s"}
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    proxy.silent = False
    assert not await store.exists("any")
    await store.close()


async def test_calls_beyond_the_connections_wait_their_turn(connect: Connect) -> None:
    """More calls at once than there may be connections are all made, one after the other, on every kind of server."""
    store = await connect(Options(link=Limits(connections=2)))
    tables = [new_table() for _ in range(40)]
    await asyncio.gather(*(store.create(table, batch_of(table)) for table in tables))
    pages = await asyncio.gather(*(store.open_tables(100) for _ in range(40)))
    assert {len(page.tables) for page in pages} == {40}
    await asyncio.gather(*(advanced(store, table, 2) for table in tables))
    histories = await asyncio.gather(*(store.history(table.game, 0, 10) for table in tables))
    assert {len(history.batches) for history in histories if history} == {3}


async def test_a_cancelled_call_leaves_its_connection_usable(proxy: Proxy) -> None:
    """A call that is given up by its caller does not have its answer read by the next one."""
    store = await Store.connect(proxy.url, patient(Options(link=Limits(connections=1))))
    one, other = await created(store), await created(store)
    for turn in range(30):
        call = asyncio.create_task(store.load(one.game))
        for _ in range(turn % 10):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert (await store.load(other.game)).table == other  # type: ignore[union-attr]
    await store.close()


async def test_a_line_that_went_silent_is_replaced(
    hasty_store: Store, proxy: Proxy, embedded_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a subscribed connection stands but brings nothing any more, it is replaced, and what it missed is given."""
    monkeypatch.setattr(line, "PING_S", 0.05)
    near = await Store.connect(embedded_redis.url, patient())
    table = await created(near)
    async with hasty_store.feed.watch(table.game, table.version) as watch:
        proxy.silent = True
        await advanced(near, table, 2)
        assert await watch.next(0.3) is None
        proxy.silent = False
        assert [(await anext(watch)).version for _ in range(2)] == [2, 3]
    await near.close()


async def test_a_line_that_breaks_while_others_commit_misses_nothing(
    far_store: Store, proxy: Proxy, embedded_redis: EmbeddedRedis
) -> None:
    """However often the connection of the feed breaks under way, every version is given once and in order."""
    near = await Store.connect(embedded_redis.url, patient())
    table = await created(near)
    async with far_store.feed.watch(table.game, 0) as watch:

        async def commit() -> None:
            last = table
            for number in range(300):
                last = await advanced(near, last, 1)
                if number % 20 == 0:
                    proxy.cuts = 1

        committing = asyncio.create_task(commit())
        async with asyncio.timeout(60):
            given = [(await anext(watch)).version for _ in range(301)]
        await committing
    assert given == list(range(1, 302))
    await near.close()
