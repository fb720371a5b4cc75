"""What only a cluster does: its slots move from node to node, and its nodes fail."""

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY
from redis.asyncio.cluster import ClusterNode
from redis.exceptions import ConnectionError as ConnectionLost

from service.store.errors import StoreUnavailable
from service.store.feed import FeedLimits
from service.store.keys import Keys
from service.store.link import Limits
from service.store.store import Options, Store
from tests import servers
from tests.patience import patient
from tests.service.store.feeds import held
from tests.service.store.tables import advanced, created

KEYS = Keys("rummyd")


@pytest.fixture
def cluster_url() -> Iterator[str]:
    """A cluster of the test's own."""
    with servers.cluster() as url:
        yield url


@pytest.fixture
async def store(cluster_url: str) -> AsyncIterator[Store]:
    """A store that never checks its games: what is not noticed is missed."""
    store = await Store.connect(cluster_url, patient(Options(feed=FeedLimits(check_s=3600))))
    yield store
    await store.close()


async def test_watches_on_all_nodes_go_on_when_slots_move(store: Store, cluster_url: str) -> None:
    """When the slot of a game is moved to another node its watch follows, and no other watch is disturbed."""
    tables = [await created(store) for _ in range(12)]
    watches = [asyncio.create_task(collect(store, table.game, 31)) for table in tables]
    async with asyncio.timeout(60):
        while held(store.feed).watches < 12 or held(store.feed).lines < 3:  # noqa: ASYNC110 - the feed tells nobody
            await asyncio.sleep(0.01)

        async def play(number: int) -> None:
            await advanced(store, tables[number], 10)
            await moved.wait()
            await advanced(store, (await store.load(tables[number].game)).table, 20)  # type: ignore[union-attr]

        moved = asyncio.Event()
        playing = [asyncio.create_task(play(number)) for number in range(12)]
        for game in {KEYS.of(table.game).open: table.game for table in tables[:6]}.values():
            await asyncio.to_thread(move_slot, cluster_url, game)
        moved.set()
        await asyncio.gather(*playing)
        assert await asyncio.gather(*watches) == [list(range(1, 32))] * 12


def failures(operation: str) -> float:
    """How often an operation of a store has failed in this process."""
    return REGISTRY.get_sample_value("rummyd_store_errors_total", {"operation": operation}) or 0.0


async def test_a_node_that_dies_holds_up_no_other(cluster_url: str) -> None:
    """When a node is killed, games on the others are played and watched as before, and watched anew."""
    store = await Store.connect(cluster_url, patient(Options(feed=FeedLimits(check_s=0.05))))
    tables = [await created(store) for _ in range(30)]
    lost_node = await asyncio.to_thread(node_of, cluster_url, tables[0].game)
    lost = [table for table in tables if await asyncio.to_thread(node_of, cluster_url, table.game) == lost_node]
    kept = [table for table in tables if table not in lost]
    doomed = [asyncio.create_task(collect(store, table.game, 2)) for table in lost]
    before = [asyncio.create_task(collect(store, table.game, 3)) for table in kept]
    async with asyncio.timeout(60):
        while held(store.feed).watches < 30:  # noqa: ASYNC110 - the feed tells nobody
            await asyncio.sleep(0.01)
        with servers.client(f"redis://{lost_node}") as client, contextlib.suppress(ConnectionLost):
            client.shutdown(nosave=True)
        failed = failures("catch_up")
        while failures("catch_up") < failed + 3:  # noqa: ASYNC110 - checks, all of which read from the dead node, too
            await asyncio.sleep(0.01)
        after = [asyncio.create_task(collect(store, table.game, 3)) for table in kept]
        for table in kept:
            await advanced(store, table, 2)
        assert await asyncio.gather(*before, *after) == [[1, 2, 3]] * 2 * len(kept)
    assert not any(task.done() for task in doomed)
    for task in doomed:
        task.cancel()
    await asyncio.wait(doomed)
    await store.close()


async def test_a_silent_node_holds_up_no_other(cluster_url: str) -> None:
    """Calls that wait for a silent node, or for all nodes, leave to those for other nodes their connections."""
    limits = Limits(connections=2)
    store = await Store.connect(cluster_url, patient(Options(link=limits)))
    tables = [await created(store) for _ in range(30)]
    silent_node = await asyncio.to_thread(node_of, cluster_url, tables[0].game)
    silent = [table for table in tables if await asyncio.to_thread(node_of, cluster_url, table.game) == silent_node]
    assert len(silent) > limits.connections
    with stopped(silent_node):
        waiting = [asyncio.create_task(store.exists(table.game)) for table in silent]
        searching = [asyncio.create_task(store.open_tables(10)) for _ in range(8)]
        for table in tables:
            if table not in silent:
                await advanced(store, table, 2)
        assert not any(task.done() for task in searching)
    await asyncio.gather(*waiting, *searching, return_exceptions=True)
    await store.close()


@contextlib.contextmanager
def stopped(node: str) -> Iterator[None]:
    """The server at this address says nothing meanwhile."""
    with servers.client(f"redis://{node}") as client:
        process: int = client.info("server")["process_id"]
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


async def test_connections_that_are_closed_under_calls_are_lost_ones(store: Store) -> None:
    """Where all connections are closed, as redis-py does when a node fails, calls are made again, or Redis is away."""
    tables = [await created(store) for _ in range(12)]
    cluster: Any = store._link.client

    async def commit_on(number: int) -> None:
        version = 1
        while version < 4:
            with contextlib.suppress(StoreUnavailable):  # closed under both tries
                loaded = await store.load(tables[number].game)
                assert loaded is not None
                version = loaded.table.version
                await advanced(store, loaded.table, 1)

    playing = [asyncio.create_task(commit_on(number)) for number in range(12)]
    pause_s = 0.005
    while not all(task.done() for task in playing):
        await cluster.nodes_manager.aclose()
        await asyncio.wait(playing, timeout=pause_s)
        pause_s *= 1.1  # a busy machine gets nothing done in so little time
    await asyncio.gather(*playing)


@pytest.mark.filterwarnings("ignore:Unclosed ClusterNode:ResourceWarning")
async def test_a_node_that_is_let_go_of_is_closed(
    store: Store, cluster_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The connections of a node that the client forgets are closed, and that is no error; an error remains one."""
    await store._link.refresh()
    host, _, port = cluster_url.rpartition("/")[2].partition(":")
    node = ClusterNode(host, int(port))
    await node.execute_command("PING")
    (connection,) = node._connections
    assert connection.is_connected
    del node
    gc.collect()
    async with asyncio.timeout(60):
        while connection.is_connected:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
    assert caplog.records == []
    asyncio.get_running_loop().call_exception_handler({"message": "a task has failed"})
    assert [record.message for record in caplog.records] == ["a task has failed"]


@pytest.mark.parametrize("error", [RuntimeError("closed"), AttributeError("None"), TypeError("None")], ids=repr)
async def test_whatever_the_client_stumbles_over_is_a_loss(store: Store, error: Exception) -> None:
    """An error that is no word of Redis's is met by sending once more, and after that Redis is away."""
    errors = [error]

    async def send() -> str:
        if errors:
            raise errors.pop()
        return "sent"

    assert await store._link.call("ping", ["any"], send) == "sent"
    errors += [error, error]
    with pytest.raises(StoreUnavailable):
        await store._link.call("ping", ["any"], send)


async def test_many_who_lost_their_node_ask_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that lose their connections at the same time learn the cluster anew together, and later ones again."""
    kind: Any = type(store._link._cluster.nodes_manager)  # type: ignore[attr-defined]
    initialize, asked = kind.initialize, list[None]()

    async def counted(nodes: object) -> None:
        asked.append(None)
        await initialize(nodes)

    monkeypatch.setattr(kind, "initialize", counted)
    await asyncio.gather(*(store._link.refresh() for _ in range(16)))
    assert len(asked) == 1
    await store._link.refresh()
    assert len(asked) == 2


def node_of(url: str, game: str) -> str:
    """Host and port of the node that serves a game."""
    with servers.client(url) as client:
        cluster: Any = client
        return str(cluster.get_node_from_key(KEYS.of(game).game).name)


async def collect(store: Store, game: str, last: int) -> list[int]:
    """The versions that a watch from the start gives, up to this one."""
    found: list[int] = []
    async with store.feed.watch(game, 0) as watch:
        while not found or found[-1] < last:
            found.append((await anext(watch)).version)
    return found


def move_slot(url: str, game: str) -> None:
    """Move the slot of a game, with all its keys, to another node, as an operator of the cluster does."""
    key = KEYS.of(game).game
    with servers.client(url) as client:
        cluster: Any = client
        slot = cluster.keyslot(key)
        nodes = {node.name for node in cluster.get_primaries()}
        source = cluster.get_node_from_key(key).name
    target = min(nodes - {source})
    with servers.client(f"redis://{source}") as old, servers.client(f"redis://{target}") as new:
        here, there = call(old, "CLUSTER MYID"), call(new, "CLUSTER MYID")
        call(new, "CLUSTER SETSLOT", slot, "IMPORTING", here)
        call(old, "CLUSTER SETSLOT", slot, "MIGRATING", there)
        while keys := call(old, "CLUSTER GETKEYSINSLOT", slot, 100):
            call(old, "MIGRATE", *target.split(":"), "", 0, 5000, "KEYS", *keys)
        for node in (new, old):
            call(node, "CLUSTER SETSLOT", slot, "NODE", there)


def call(client: object, *command: object) -> Any:
    """What a node answers to a command."""
    return client.execute_command(*command)  # type: ignore[attr-defined]
