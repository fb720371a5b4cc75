"""The bot: legal under any rules, from its own view alone, and better than chance and than plain greed."""

import random
from functools import partial

import pytest
from hypothesis import given, settings

from engine.actions import Action, Discard, Draw, LayDown, LayOff, SwapJoker, Take
from engine.cards import JOKER
from engine.legal import is_legal, legal_actions
from engine.notation import read_cards
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State
from engine.status import status
from engine.step import next_deal, step
from engine.view import summary, view
from service import bots
from tests.strategies import Chooser, any_legal, begin, position, reshuffled, rules_of, seeds, tables


def bot(state: State, _chance: random.Random | None = None) -> Action:
    """What a bot does in the seat to move."""
    return bots.choose(view(state, state.turn), partial(legal_actions, state, state.turn))


def greedy(state: State, _chance: random.Random) -> Action:
    """The plain policy of the demo: draw, lay what can be laid, discard the dearest card that goes with no other."""
    options, hand = summary(state, state.turn), state.hands[state.turn]
    if options.may_draw:
        return Draw()
    if options.may_lay_down:
        lays = (action for action in legal_actions(state, state.turn) if isinstance(action, LayDown))
        return max(lays, key=lambda action: len(action.cards))
    if options.lay_offs:
        place = options.lay_offs[0]
        return LayOff(place.meld, bytes([place.card]), place.ends[0] if place.ends else None)
    if options.discards:
        return Discard(max(options.discards, key=partial(_burden, hand)))
    return Take(options.takes[0]) if options.takes else next(legal_actions(state, state.turn))


def _burden(hand: bytes, card: int) -> tuple[bool, bool, int]:
    if card == JOKER:
        return False, False, 0
    suit, rank = divmod(card, 13)
    company = [divmod(other, 13) for other in hand if other not in {card, JOKER}]
    goes_along = any(of == rank or (by == suit and abs(of - rank) <= 2) for by, of in company)
    return True, not goes_along, rank


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


def deals_won(preset: str, other: Chooser, deals: int, seats: int = 2) -> float:
    """The share of scored deals that a bot wins against others that all play alike, its seat moving round."""
    chance = random.Random(20)  # noqa: S311  the same in every run
    rules = rules_of(preset, deals=1, target=0)
    won, scored = 0.0, 0
    for number in range(deals):
        state, seat = begin(rules, seats, chance), number % seats
        while state.phase is not Phase.MATCH_OVER:
            action = bot(state) if state.turn == seat else other(state, chance)
            state = step(state, state.turn, action).state
        assert state.result is not None
        scores = state.result.scores
        if any(scores):
            scored += 1
            best = [winner for winner, score in enumerate(scores) if score == max(scores)]
            won += (seat in best) / len(best)
    assert scored > deals / 4
    return won / scored


@pytest.mark.parametrize(("preset", "share"), [("basic", 0.9), ("rummy500", 0.8), ("pool500", 0.9)])
def test_a_bot_beats_chance(preset: str, share: float) -> None:
    """Against a seat that plays any legal action a bot wins most deals."""
    assert deals_won(preset, any_legal, 100) >= share


@pytest.mark.parametrize(
    ("preset", "seats", "share"),
    [("basic", 2, 0.65), ("rummy500", 2, 0.8), ("pool500", 2, 0.5), ("basic", 4, 0.3), ("rummy500", 4, 0.6)],
)
def test_a_bot_beats_plain_greed(preset: str, seats: int, share: float) -> None:
    """Against the plain policy of the demo a bot wins more than its share of deals."""
    assert deals_won(preset, greedy, 80, seats) > share


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
    state = position(rules_of("rummy500"), ["QC QD 2H 2S", "9C"], pile="QH QS 5D")
    assert bot(state) == Discard(read_cards("QD")[0]) or bot(state) == Discard(read_cards("QC")[0])
    assert bot(position(rules_of("basic", jokers=2), ["4C JK", "9C"])) == Discard(read_cards("4C")[0])


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
