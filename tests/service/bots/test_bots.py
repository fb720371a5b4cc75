"""The bot: legal under any rules, from its own view alone, and better than chance and than plain greed."""

import random
import time
from functools import partial

import pytest
from hypothesis import given, settings

from engine.actions import Action, Discard, Draw, LayDown, LayOff, SwapJoker, Take
from engine.legal import is_legal, legal_actions
from engine.notation import read_cards
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State
from engine.status import status
from engine.step import next_deal, step
from engine.view import view
from service import bots
from tests.strategies import any_legal, begin, position, reshuffled, rules_of, seeds, tables
from tools.contests import DUE, Contest, played


def bot(state: State) -> Action:
    """What a bot does in the seat to move."""
    return bots.choose(view(state, state.turn), partial(legal_actions, state, state.turn))


@settings(max_examples=50)
@given(tables(), seeds)
def test_a_bot_keeps_to_any_rules(table: tuple[RuleSet, int], seed: int) -> None:
    """Whatever the house rules, every action that a bot chooses is legal, so that it never fouls and is never stuck."""
    rules, seats = table
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    state = begin(rules, seats, chance)
    for _ in range(200):
        if state.phase is Phase.MATCH_OVER:
            break
        if state.phase is Phase.DEAL_OVER:
            state = next_deal(state, chance.randbytes(SEED_SIZE)).state
            continue
        action = bot(state) if chance.random() < 0.7 else any_legal(state, chance)
        assert is_legal(state, state.turn, action), action
        state = step(state, state.turn, action).state
    assert status(state) == []


@settings(max_examples=40)
@given(tables(), seeds)
def test_a_bot_knows_no_more_than_its_seat(table: tuple[RuleSet, int], seed: int) -> None:
    """Where others hold other cards and the stock lies otherwise, a bot does the same (G3)."""
    rules, seats = table
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    state = begin(rules, seats, chance)
    for _ in range(30):
        if state.phase not in (Phase.DRAW, Phase.PLAY):
            break
        action = bot(state)
        assert bot(reshuffled(state, state.turn, chance)) == action
        state = step(state, state.turn, action).state


@pytest.mark.parametrize(
    ("preset", "seats", "least"),
    [("basic", 2, 0.9), ("basic", 4, 0.9), ("rummy500", 2, DUE), ("rummy500", 4, DUE), ("pool500", 3, 0.9)],
)
def test_a_bot_beats_chance(preset: str, seats: int, least: float) -> None:
    """Against seats that play any legal action a bot scores more than each of them in most deals."""
    outcome = played(Contest(preset, seats, "chance"), range(60))
    assert outcome.scored >= 15
    assert outcome.outdone / outcome.scored >= least


@pytest.mark.parametrize(
    ("preset", "seats", "least"),
    [("basic", 2, 0.6), ("basic", 4, 0.3), ("rummy500", 2, 0.8), ("rummy500", 4, 0.7), ("pool500", 2, 0.55)],
)
def test_a_bot_beats_plain_greed(preset: str, seats: int, least: float) -> None:
    """Against seats that play the plain policy of the demo a bot wins more than its share of deals."""
    outcome = played(Contest(preset, seats, "greed"), range(60))
    assert outcome.scored > 30
    assert outcome.won / outcome.scored >= least > 1 / seats


@pytest.mark.parametrize("preset", ["basic", "rummy500"])
def test_the_longest_hands_are_soon_judged(preset: str) -> None:
    """With four packs, eight jokers and thirty cards in hand a choice takes no second of CPU time."""
    rules = rules_of(preset, packs=4, jokers=8, hand_size=30, distinct_suits=False, set_max=0, joker_swap="to_hand")
    state = begin(rules, 3, random.Random(3))  # noqa: S311  the same in every run
    slowest = 0.0
    for _ in range(60):
        if state.result is not None:
            break
        begun = time.thread_time()
        action = bot(state)
        slowest = max(slowest, time.thread_time() - begun)
        state = step(state, state.turn, action).state
    assert 0 < slowest < 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_hand_keeps_a_server_busy(seed: int) -> None:
    """Not even a hand of 52 cards and eight jokers, of which no search would come to an end, takes a second."""
    rules = rules_of("rummy500", packs=4, jokers=8, hand_size=52, ace="either")
    state = begin(rules, 2, random.Random(seed))  # noqa: S311  the same in every run
    for _ in range(6):
        begun = time.thread_time()
        action = bot(state)
        assert time.thread_time() - begun < 1
        state = step(state, state.turn, action).state


def test_it_takes_what_it_can_use() -> None:
    """It takes the top of the pile where that makes a meld, and draws where it does not."""
    rules = rules_of("basic")
    assert bot(position(rules, ["7C 7D KS 2H", "9C"], phase=Phase.DRAW, pile="QC 7S")) == Take(1)
    assert bot(position(rules, ["7C 7D KS 2H", "9C"], phase=Phase.DRAW, pile="QC 8S")) == Draw()


def test_it_lays_all_that_it_can_and_keeps_what_may_become_a_meld() -> None:
    """It lays what leaves least, then discards what goes with nothing rather than a pair."""
    rules = rules_of("basic")
    state = position(rules, ["7C 7D 7S QH QD JS", "9C"])
    action = bot(state)
    assert action == LayDown(read_cards("7C 7D 7S"))
    assert bot(step(state, 0, action).state) == Discard(read_cards("JS")[0])


def test_it_lays_off_before_it_discards() -> None:
    """A card that fits a meld on the table goes there."""
    state = position(rules_of("basic"), ["KC KH 2S", "9C"], melds=[("TC JC QC", 1)])
    assert bot(state) == LayOff(0, read_cards("KC"))


def test_it_keeps_what_still_has_hope() -> None:
    """Of two pairs it keeps the one whose other cards are not all seen, and a joker rather than any natural."""
    melds = [("9H TH JH QH", 1), ("9S TS JS QS", 1)]
    state = position(rules_of("rummy500"), ["QC QD 2H 2S", "9C"], pile="5D", melds=melds)
    assert bot(state) in {Discard(card) for card in read_cards("QC QD")}
    assert bot(position(rules_of("basic", jokers=2), ["4C JK", "9C"])) == Discard(read_cards("4C")[0])


@pytest.mark.clause("F9")
def test_it_keeps_what_the_pile_makes_a_meld_of() -> None:
    """Where all the pile is open, a card whose mates lie there is kept: it takes them in its next turn."""
    state = position(rules_of("rummy500"), ["5C 9H 9D", "9C"], pile="5D JC 5S")
    assert bot(state) != Discard(read_cards("5C")[0])
    assert bot(position(rules_of("rummy500"), ["5C 9H 9D", "9C"], pile="8D JC 4S")) == Discard(read_cards("5C")[0])


def test_it_swaps_a_joker_that_it_can_use() -> None:
    """It puts its natural for a joker on the table where the joker makes a meld in its hand."""
    rules = rules_of("basic", jokers=2)
    state = position(rules, ["5H 9C 9D KC", "2C"], melds=[("3H 4H JK 6H", 1)])
    assert bot(state) == SwapJoker(0, read_cards("5H")[0])


@pytest.mark.clause("P14")
def test_it_knocks_as_soon_as_it_can() -> None:
    """The first player of a pool game lays down what it has, so that the others may."""
    state = position(rules_of("pool500"), ["7C 7D 7S 2C 3D KC", "9C", "8C"], knocked=False)
    assert isinstance(bot(state), LayDown)


@pytest.mark.clause("F10")
def test_it_uses_what_it_took() -> None:
    """What it takes from the depth of the pile it lays at once."""
    state = position(rules_of("rummy500"), ["7C 7D 2S 9H", "9C"], phase=Phase.DRAW, pile="KC 7S 3D")
    state = step(state, 0, bot(state)).state
    assert state.owed
    action = bot(state)
    assert isinstance(action, LayDown)
    assert read_cards("7S")[0] in action.cards


def test_it_is_asked_in_its_own_turn() -> None:
    """Asked with another's view, or a spectator's, it refuses."""
    state = position(rules_of(), ["7C 2D", "9C"])
    for seat in (1, None):
        with pytest.raises(ValueError, match="own turn"):
            bots.choose(view(state, seat), lambda: ())
