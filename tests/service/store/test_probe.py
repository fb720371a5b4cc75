"""Which shards take commits: found out by writing to each, as a commit does."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from redis.cluster import RedisCluster

from service.embedded import EmbeddedRedis
from service.store.errors import StoreUnavailable
from service.store.keys import SHARDS, Keys, shard_of
from service.store.store import Store
from tests import servers
from tests.patience import patient
from tests.service.store.tables import advanced, batch_of, created, new_table

KEYS = Keys("rummyd")


async def until(store: Store, so: Callable[[dict[int, str]], bool]) -> dict[int, str]:
    """What is lost, once it is as it should be."""
    async with asyncio.timeout(60):
        while not so(lost := await store.lost_shards()):  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.1)
        return lost


@pytest.fixture
def cluster_url() -> Iterator[str]:
    """A cluster of the test's own."""
    with servers.cluster() as url:
        yield url


async def test_none_is_lost_as_long_as_all_is_well(store: Store) -> None:
    """On a server or a cluster that takes commits no shard is lost."""
    assert await store.lost_shards() == {}


async def test_all_are_lost_where_memory_is_full(own_store: Store, embedded_redis: EmbeddedRedis) -> None:
    """Where memory is full, and commits are refused, every shard is lost, though Redis still tells what it has."""
    table = await created(own_store)
    with servers.client(embedded_redis.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        lost = await own_store.lost_shards()
        assert lost.keys() == set(range(SHARDS))
        assert all("maxmemory" in reason for reason in lost.values())
        assert await own_store.load(table.game) is not None
        other = new_table()
        with pytest.raises(StoreUnavailable, match="maxmemory"):
            await own_store.create(other, batch_of(other))
        client.config_set("maxmemory", 0)
        assert await own_store.lost_shards() == {}


async def test_all_are_lost_where_nobody_answers(own_store: Store, embedded_redis: EmbeddedRedis) -> None:
    """Where Redis is gone every shard is lost, until it is back."""
    await asyncio.to_thread(embedded_redis.kill)
    assert len(await own_store.lost_shards()) == SHARDS
    await asyncio.to_thread(embedded_redis.start)
    assert await own_store.lost_shards() == {}


async def test_a_cluster_that_gives_up_has_lost_all(cluster_url: str) -> None:
    """A cluster that has lost a master, and serves nothing without it, has lost every shard."""
    store = await Store.connect(cluster_url, patient())
    table = await created(store)
    await asyncio.to_thread(servers.kill_master_of, cluster_url, KEYS.of(table.game).game)
    await until(store, lambda lost: len(lost) == SHARDS)
    await store.close()


async def test_a_cluster_that_goes_on_has_lost_the_dead_ones(cluster_url: str) -> None:
    """Where a cluster goes on without a master, its shards are lost; those of the others are played at and listed."""
    with servers.client(cluster_url) as client:
        assert isinstance(client, RedisCluster)
        client.config_set("cluster-require-full-coverage", "no", target_nodes=RedisCluster.ALL_NODES)
        nodes = [servers.node_of(client, KEYS.probe(shard)) for shard in range(SHARDS)]
    store = await Store.connect(cluster_url, patient())
    tables = [new_table(likeness="kind") for _ in range(60)]
    for table in tables:
        await store.create(table, batch_of(table))
    killed = await asyncio.to_thread(servers.kill_master_of, cluster_url, KEYS.of(tables[0].game).game)
    dead = {shard for shard, node in enumerate(nodes) if node == killed}
    lost = await until(store, lambda lost: lost.keys() == dead)
    await asyncio.to_thread(servers.be_patient, set(nodes) - {killed})
    assert 0 < len(lost) < SHARDS
    kept = [table for table in tables if shard_of(table.game) not in dead]
    for number, table in enumerate(kept):
        kept[number] = await advanced(store, table, 1)
    assert len(kept) > 0
    listed = (await store.open_tables(60)).tables
    assert sorted(table.game for table in listed) == sorted(table.game for table in kept)
    assert await store.fullest_alike("kind") in {table.game for table in kept}
    await store.close()
