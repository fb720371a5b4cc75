"""The bot: legal under any rules, from its own view alone, and better than chance and than plain greed."""

import random
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings

from engine.actions import Action, Discard, Draw, LayDown, LayOff, SwapJoker, Take
from engine.cards import JOKER
from engine.legal import is_legal, legal_actions
from engine.melds import readings
from engine.notation import read_cards
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.solver import Effort
from engine.state import Phase, State
from engine.status import status
from engine.step import next_deal, step
from engine.view import view
from service import bots
from tests.strategies import any_legal, begin, position, reshuffled, rules_of, seeds, tables
from tools.contests import DUE, Contest, played


def bot(state: State, effort: Effort | None = None) -> Action:
    """What a bot does in the seat to move."""
    return bots.choose(view(state, state.turn), partial(legal_actions, state, state.turn), effort)


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


@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500"])
def test_a_turn_of_a_named_game_is_chosen_in_full(preset: str) -> None:
    """A turn of any preset takes no more than a sixth of its effort, so that no choice there is cut short."""
    rules = rules_of(preset)
    for seats in (2, rules.seats[1]):
        state, turn, effort = begin(rules, seats, random.Random(seats)), None, Effort()  # noqa: S311  to play again
        while state.result is None:
            if turn != (turn := (state.turn, state.round)):
                effort = bots.turns_effort()
            state = step(state, state.turn, bot(state, effort)).state
            assert effort.left > 5 * bots.turns_effort().left / 6


HARD = {"packs": 4, "jokers": 8, "hand_size": 52, "discard_draw": "any", "ace": "either"}
"""House rules of which hands come that no search takes apart in any time, and piles of any depth."""
LAID = [
    ("3C 4C JK 6C", 1),
    ("6D JK 8D", 1),
    ("5H JK 7H", 0),
    ("8S 9S JK", 1),
    ("KC KD JK", 1),
    ("JK 2H 3H 4H", 1),
    ("AC 2C 3C 4C 5C JK 7C 8C 9C TC JC QC KC", 1),
]


def hard(phase: Phase, naturals: int, **options: object) -> State:
    """A seat to move that holds eight jokers and so many naturals, with jokers to swap, and a pile of fifty cards."""
    pack = [*range(JOKER)] * 4
    random.Random(naturals).shuffle(pack)  # noqa: S311  cards to test
    hands: list[str | bytes] = [bytes(pack[:naturals]) + bytes([JOKER] * 8), "9D"]
    rules = rules_of("basic", **{**HARD, **options})
    laid = [(cards, owner) for cards, owner in LAID if readings(rules, read_cards(cards))]
    return position(rules, hands, pile=bytes(pack[naturals : naturals + 50]), phase=phase, melds=laid)


@pytest.mark.parametrize("phase", [Phase.DRAW, Phase.PLAY])
@pytest.mark.parametrize("naturals", [20, 60, 150])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lay_off": "none", "joker_swap": "never", "set_min": 8, "run_min": 8, "sets_count_once": True},
        {"scoring": "melds", "ace_points": "fifteen", "joker_swap": "same_turn"},
        {"use_taken": True, "distinct_suits": True},
        {"go_out": "discard", "set_min": 13, "run_min": 13, "joker_swap": "never"},
    ],
)
def test_no_hand_keeps_a_server_busy(phase: Phase, naturals: int, options: dict[str, object]) -> None:
    """No house rules, hand, table or pile make a choice take much more than the effort of a turn; it is legal still."""
    state, effort = hard(phase, naturals, **options), bots.turns_effort()
    action = bot(state, effort)
    assert is_legal(state, state.turn, action)
    assert effort.left > -bots.turns_effort().left / 4


@pytest.mark.parametrize("options", [{}, {"scoring": "melds"}, {"use_taken": True}, {"joker_swap": "same_turn"}])
def test_a_whole_turn_takes_no_more(options: dict[str, object]) -> None:
    """Nor does a turn of many lays: when its effort is spent it is ended, in a plain way."""
    state, effort = hard(Phase.DRAW, 100, **options), bots.turns_effort()
    while state.turn == 0 and state.result is None:
        action = bot(state, effort)
        assert is_legal(state, 0, action)
        state = step(state, 0, action).state
    assert effort.left > -bots.turns_effort().left / 4


@pytest.mark.clause("F10")
def test_what_must_be_used_is_used_though_nothing_is_left() -> None:
    """Without any effort left the card that was taken is laid, as the turn could not end, by the first lay listed."""
    state = step(hard(Phase.DRAW, 60, use_taken=True), 0, Take(5)).state
    asked: list[Action] = []

    def legal() -> Iterator[Action]:
        for action in legal_actions(state, 0):
            asked.append(action)
            yield action

    action = bots.choose(view(state, 0), legal, Effort(0))
    assert is_legal(state, 0, action)
    assert asked == [action]


def test_without_effort_a_plain_card_is_given_away() -> None:
    """Nothing is laid then, and the discard is a card that counts much, not a joker."""
    state = position(rules_of("basic", jokers=2), ["7C 7D 7S KH 2S JK", "9C"])
    assert bot(state, Effort(0)) == Discard(read_cards("KH")[0])


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
