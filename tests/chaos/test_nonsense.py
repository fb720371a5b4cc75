"""That memory is judged however far a round of random acts comes."""

import random
import sys
from itertools import count

import pytest

from service.embedded import EmbeddedRedis
from tests.chaos import nonsense

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is read from /proc")

CHANCE = random.Random(1)  # noqa: S311  the same in every run


async def test_memory_is_judged_where_time_is_short(
    embedded_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where time ends a round long before a fifth of its acts, what they took of memory is judged all the same."""
    grown = count(1 << 30, nonsense.MOST_GROWTH)
    monkeypatch.setattr(nonsense, "memory_of", lambda _: next(grown))
    with pytest.raises(AssertionError, match="memory grew by"):
        await nonsense._send(embedded_redis.url, CHANCE, 1_000_000, 1.0)


async def test_a_round_without_a_reading_fails(embedded_redis: EmbeddedRedis) -> None:
    """A round in which memory was never read, as nothing was played, is no round that kept within its bounds."""
    with pytest.raises(AssertionError, match="was not read"):
        await nonsense._send(embedded_redis.url, CHANCE, 1_000_000, 0.0)
