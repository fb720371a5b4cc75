import pytest
from redis.crc import key_slot

from service.store.keys import SHARDS, Keys

SLOTS = 16384


def slots() -> list[int]:
    """The slot of each shard, in a Redis Cluster."""
    return [key_slot(Keys("rummyd").due(shard).due.encode()) for shard in range(SHARDS)]


def test_all_keys_of_a_shard_lie_in_one_slot() -> None:
    """A commit touches the keys of one game alone, and a look those of one shard: each is atomic in a cluster."""
    keys = Keys("rummyd")
    game = keys.of("7k2m", code="ABC", likeness="kind")
    of_game = [game.game, game.history, game.record, game.code, game.open, game.alike, game.due, game.feed]
    assert len({key_slot(key.encode()) for key in (*of_game, *game.tables)}) == 1
    assert len(set(slots())) == SHARDS


@pytest.mark.parametrize("masters", range(1, SHARDS + 1))
def test_masters_have_much_the_same_number_of_shards(masters: int) -> None:
    """Where masters share the slots out in equal parts, as redis-cli does, none has two shards more than another."""
    counts = [0] * masters
    for slot in slots():
        counts[slot * masters // SLOTS] += 1
    assert max(counts) - min(counts) <= 1
