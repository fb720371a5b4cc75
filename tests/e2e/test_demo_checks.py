"""The demo's checks, held to matches in which one thing is wrong: each finds its own."""

import asyncio
import io
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
from rich.console import Console
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import Event, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet

from clients.demo import fairness
from clients.demo.checks import Played, checks
from clients.demo.match import Match
from clients.demo.screen import Screen
from clients.demo.watcher import Watcher
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from tests.e2e.live import Rummyd

GAP, SAME, HIDDEN, TABLE, SCORES, SEED, CARDS = range(7)
"""The checks, by their place."""


async def _played(server: Rummyd, rules: RuleSet, seats: int) -> Played:
    async with GrpcApi(server.grpc) as by_grpc, RestApi(server.rest) as by_rest:
        created = await by_grpc.create_game(pb.CreateGameRequest(game=Game(rule_set=rules, seat_count=seats)))
        screen = Screen(Console(file=io.StringIO()), "test")
        return await Match(created, by_grpc, by_rest, screen).play(seats)


@pytest.fixture(scope="module")
def recorded(rummyd: Rummyd) -> Played:
    """Two deals of Rummy 500, with what everybody was told of them."""
    return asyncio.run(_played(rummyd, RuleSet(preset="rummy500", deals=2), 3))


@pytest.fixture
def played(recorded: Played) -> Played:
    """A copy of them, to be spoilt."""
    watchers = [Watcher(None, watcher.how) for watcher in recorded.watchers]  # type: ignore[arg-type]  # they have watched
    for mine, theirs in zip(watchers, recorded.watchers, strict=True):
        mine.snapshots, mine.batches = deepcopy(theirs.snapshots), deepcopy(theirs.batches)
    views, final = deepcopy(recorded.views), deepcopy(recorded.final)
    return Played(deepcopy(recorded.created), watchers, list(recorded.added), views, final)


def found(played: Played) -> set[int]:
    """The places of the checks that find a fault."""
    return {place for place, (_, faults) in enumerate(checks(played)) if faults}


def events(played: Played, kind: str) -> list[list[Event]]:
    """The events of a kind, in order: each as every watcher was told it."""
    told = [
        [event for batch in watcher.batches for event in batch.events if event.HasField(kind)]  # type: ignore[arg-type]
        for watcher in played.watchers
    ]
    return [list(same) for same in zip(*told, strict=True)]


def test_a_good_match(played: Played) -> None:
    """In a match as it was played no check finds anything."""
    assert found(played) == set()
    assert len(checks(played)) == len({name for name, _ in checks(played)}) == CARDS + 1


def _lose(batches: list[EventBatch]) -> None:
    del batches[5]


def _repeat(batches: list[EventBatch]) -> None:
    batches.insert(5, batches[4])


def _swap(batches: list[EventBatch]) -> None:
    batches[4], batches[5] = batches[5], batches[4]


def _end_early(batches: list[EventBatch]) -> None:
    del batches[-1]


@pytest.mark.parametrize("spoil", [_lose, _repeat, _swap, _end_early])
@pytest.mark.parametrize("watcher", [0, 1], ids=["SSE", "gRPC"])
def test_gaps(spoil: Callable[[list[EventBatch]], None], watcher: int, played: Played) -> None:
    """A version that is missing, doubled or out of order is found, whichever watcher it befell."""
    spoil(played.watchers[watcher].batches)
    assert GAP in found(played)


def test_a_second_snapshot(played: Played) -> None:
    """A snapshot in the place of versions is found."""
    played.watchers[1].snapshots.append(deepcopy(played.final))
    assert found(played) == {GAP}


def test_differences(played: Played) -> None:
    """What one watcher was told otherwise than the other is found."""
    played.watchers[1].batches[7].commit_time.nanos += 1
    assert found(played) == {SAME}


def test_hidden_cards(played: Played) -> None:
    """A hand, a drawn card, or the options of a seat, shown to a watcher, are found."""
    for kind, field in (("deal_started", "hand"), ("drew", "cards")):
        spoilt = deepcopy(events(played, kind)[0][0])
        for event in events(played, kind)[0]:
            getattr(getattr(event, kind), field).append("2C")
        assert found(played) == {HIDDEN}
        for event in events(played, kind)[0]:
            event.CopyFrom(spoilt)
    played.watchers[0].snapshots[0].view.options.draw = True
    assert HIDDEN in found(played)


def test_an_early_seed(played: Played) -> None:
    """A seed that is shown before its deal is over is found."""
    seed = events(played, "deal_ended")[1][0].deal_ended.seed
    for event in events(played, "deal_started")[0]:
        event.deal_started.next_commitment = seed
    assert HIDDEN in found(played)


def test_another_table(played: Played) -> None:
    """A view that the events do not lead to is found."""
    played.final.view.seats[0].card_count += 1
    assert found(played) == {TABLE}


def test_scores(played: Played) -> None:
    """A seat that was told other scores is found, and so is a match that is not over."""
    played.views[1].result.scores[0] += 1
    assert found(played) == {SCORES}
    played.views[1].result.scores[0] -= 1
    played.final.state = Game.STATE_PLAYING
    assert found(played) == {SCORES}


def test_commitments(played: Played) -> None:
    """Another commitment than was published before the deal is found: before the first, and before each later one."""
    played.created.commitment = "00" * 32
    assert found(played) == {SEED}
    played.created.commitment = events(played, "deal_started")[0][0].deal_started.commitment
    for event in events(played, "deal_started")[0]:
        event.deal_started.next_commitment = "00" * 32
    assert found(played) == {SEED}


def test_another_seed(played: Played) -> None:
    """A seed that is not the one committed to is found."""
    for event in events(played, "deal_ended")[0]:
        event.deal_ended.seed = "00" * 32
    assert {SEED, CARDS} <= found(played)


def test_another_addition(played: Played) -> None:
    """A shuffle without what a player added, or with something else, is found."""
    spoilt = replace(played, added=["else", *played.added[1:]])
    assert found(spoilt) == {CARDS}
    spoilt.final.view.entropy = fairness.entropy_of(spoilt.added).hex()
    assert found(spoilt) == {CARDS}


def test_another_card(played: Played) -> None:
    """A card that a seat cannot have, an up-card that was not due, and a hand that was not left, are found."""
    (*_, last) = events(played, "deal_ended")
    for event in last:
        hand = next(hand for hand in event.deal_ended.hands if hand.cards)
        hand.cards[0] = "2C" if hand.cards[0] != "2C" else "2D"
    assert found(played) == {CARDS}
    for event in events(played, "deal_started")[0]:
        event.deal_started.stock_size += 1
    assert found(played) >= {CARDS}
    for event in events(played, "discarded")[0]:
        event.discarded.card = "JK"
    assert found(played) >= {CARDS}
