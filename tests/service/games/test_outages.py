"""What is known of outages: each ms once, whether the store tells of it or this process alone knows."""

from service.games.outages import Outages
from service.store.due import SILENCE_MS
from service.store.keys import shard_of

GAME = "game1"
SHARD = shard_of(GAME)


def test_without_a_look_nothing_is_known() -> None:
    """A process that has not looked yet knows of no outage."""
    assert Outages().within(GAME, 0, 10**9) == 0


def test_only_what_falls_into_the_time_counts() -> None:
    """Of each outage that part counts that lies within the time asked for."""
    outages = Outages()
    outages.put(SHARD, ((1_000, 4_000), (10_000, 13_000), (20_000, 23_000)), 24_000)
    assert outages.within(GAME, 0, 24_000) == 9_000
    assert outages.within(GAME, 2_000, 24_000) == 8_000
    assert outages.within(GAME, 11_000, 12_000) == 1_000
    assert outages.within(GAME, 13_000, 20_000) == 0


def test_a_shard_has_outages_of_its_own() -> None:
    """Where part of a cluster was away, the games of the other parts are not concerned."""
    outages = Outages()
    other = next(f"game{number}" for number in range(2, 99) if shard_of(f"game{number}") != SHARD)
    outages.put(SHARD, ((0, 5_000),), 6_000)
    outages.put(shard_of(other), (), 6_000)
    assert (outages.within(GAME, 0, 6_000), outages.within(other, 0, 6_000)) == (5_000, 0)


def test_while_it_cannot_look_a_process_knows_best() -> None:
    """What passed since this process could look last counts as an outage, once it is longer than looks lie apart."""
    outages = Outages()
    outages.put(SHARD, ((1_000, 4_000),), 10_000)
    assert outages.within(GAME, 0, 10_000 + SILENCE_MS) == 3_000
    assert outages.within(GAME, 0, 10_000 + SILENCE_MS + 1) == 3_000 + SILENCE_MS + 1
    assert outages.within(GAME, 15_000, 20_000) == 5_000
