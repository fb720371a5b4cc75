import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import JOKER
from engine.errors import Refused
from engine.lays import Lay
from engine.legal import check, discards, is_legal, legal_actions
from engine.notation import read_action, read_cards, write_action, write_position
from engine.rules import DiscardDraw, RuleSet
from engine.state import Phase, State, encode
from engine.step import step
from tests.strategies import moments, position, rules_of, seeds, tables

FEW = st.lists(st.sampled_from(read_cards("AS 2S 3S 4S KS AH 4D 4C 7H 8H JK")), min_size=1, max_size=5).map(bytes)
RULES = st.builds(
    lambda **options: rules_of(jokers=4, packs=2, **options),
    ace=st.sampled_from(["low", "either"]),
    distinct_suits=st.booleans(),
    lay_off=st.sampled_from(["none", "own", "any"]),
    joker_swap=st.sampled_from(["never", "to_hand", "same_turn"]),
    go_out=st.sampled_from(["free", "discard"]),
    use_taken=st.booleans(),
    discard_differs=st.booleans(),
)
MELDS = st.lists(
    st.tuples(st.sampled_from(["5H 6H JK", "2S JK 4S", "QS KS JS", "4H 4D JK", "9C TC JC"]), st.integers(0, 1)),
    max_size=2,
)


def effect(state: State, action: Action) -> bytes:
    return encode(step(state, state.turn, action).state)


def everything(state: State) -> Iterator[Action]:
    """Every action that can be named with the cards in hand, lawful or not."""
    hand = state.hands[state.turn]
    yield from (Draw(), Pass())
    yield from (Take(count) for count in range(len(state.pile) + 2))
    yield from (Discard(card) for card in range(JOKER + 1))
    picks = {cards for size in range(len(hand) + 1) for cards in itertools.permutations(hand, size)}
    for cards, kind in itertools.product(picks, (None, *MeldKind)):
        yield LayDown(bytes(cards), kind)
    for cards, meld, end in itertools.product(picks, range(-1, len(state.melds) + 1), (None, *End)):
        yield LayOff(meld, bytes(cards), end)
    for card, meld in itertools.product(range(JOKER + 1), range(len(state.melds) + 1)):
        yield SwapJoker(meld, card)


@given(RULES, FEW, MELDS)
@settings(max_examples=60, deadline=None)
@pytest.mark.clause("G7")
def test_what_is_accepted_was_listed(rules: RuleSet, hand: bytes, melds: list[tuple[str, int]]) -> None:
    """Of all actions that can be named, those accepted come to just the same states as those listed, each once."""
    state = position(rules, [hand, "9C KD"], melds=melds)
    listed = [effect(state, action) for action in legal_actions(state, 0)]
    accepted = {effect(state, action) for action in everything(state) if is_legal(state, 0, action)}
    assert len(listed) == len(set(listed)), write_position(state)
    assert set(listed) == accepted, write_position(state)


PILES = st.lists(st.integers(0, JOKER), min_size=1, max_size=4).map(bytes)


@given(RULES, FEW, MELDS, PILES)
@settings(max_examples=100, deadline=None)
@pytest.mark.clause("F10")
def test_a_card_is_taken_just_where_it_can_be_used(
    rules: RuleSet, hand: bytes, melds: list[tuple[str, int]], pile: bytes
) -> None:
    """A take is refused as unusable just where no lay with the chosen card would be legal, had it been taken freely."""
    freely, bound = (replace(rules, discard_draw=DiscardDraw.ANY, use_taken=use) for use in (False, True))
    free = position(freely, [hand, "9C KD"], melds=melds, pile=pile, phase=Phase.DRAW)
    state = position(bound, [hand, "9C KD"], melds=melds, pile=pile, phase=Phase.DRAW)
    for count in range(1, len(pile) + 1):
        could = legal_actions(step(free, 0, Take(count)).state, 0)
        useful = {action for action in could if isinstance(action, Lay) and pile[-count] in cards_of(action)}
        assert is_legal(state, 0, Take(count)) == bool(useful)
        if useful:
            assert set(legal_actions(step(state, 0, Take(count)).state, 0)) == useful


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
@pytest.mark.clause("G7")
def test_every_listed_action_is_accepted(table: tuple[RuleSet, int], seed: int) -> None:
    """In a match each action on the list is legal, none is listed twice, and the seat to move always has one."""
    for state, _ in moments(*table, seed, most=60):
        listed = list(legal_actions(state, state.turn))
        assert listed, write_position(state)
        assert len(listed) == len(set(listed))
        for action in listed:
            check(state, state.turn, action)


@given(tables(), seeds)
@settings(max_examples=10, deadline=None)
@pytest.mark.clause("G7")
def test_nothing_is_listed_for_a_seat_that_is_not_to_move(table: tuple[RuleSet, int], seed: int) -> None:
    """Only the seat to move has legal actions."""
    for state, _ in moments(*table, seed, most=20):
        others = [seat for seat in range(len(state.hands)) if seat != state.turn]
        assert [action for seat in others for action in legal_actions(state, seat)] == []


REFUSED_FIRST = [
    ("play", 1, "lay down 2C 3C", "NOT_YOUR_TURN"),
    ("draw", 0, "lay down 2C 3C", "WRONG_PHASE"),
    ("play", 0, "draw", "WRONG_PHASE"),
    ("play", 0, "lay off AH on 3", "NO_SUCH_MELD"),
    ("play", 0, "lay off AH on 0", "CARD_NOT_IN_HAND"),
    ("play", 0, "lay off 9D on 0", "NOT_A_LAY_OFF"),
    ("play", 0, "swap AH on 3", "NO_SUCH_MELD"),
    ("play", 0, "swap AH on 0", "CARD_NOT_IN_HAND"),
    ("play", 0, "swap 9D on 0", "NO_JOKER_TO_SWAP"),
    ("play", 0, "lay down 9D 9S 2C", "NOT_A_MELD"),
    ("play", 0, "lay down 9D JK JK", "AMBIGUOUS_PLACE"),
    ("play", 0, "lay down 9D 9S 9H", "TAKEN_CARD_UNUSED"),
    ("play", 0, "lay off JK on 0", "AMBIGUOUS_PLACE"),
    ("play", 0, "lay off 7H on 0", "TAKEN_CARD_UNUSED"),
    ("play", 0, "swap 4H on 1", "TAKEN_CARD_UNUSED"),
    ("play", 0, "discard AH", "CARD_NOT_IN_HAND"),
    ("play", 0, "discard 2C", "TAKEN_CARD_UNUSED"),
    ("play", 0, "pass", "TAKEN_CARD_UNUSED"),
]


@pytest.mark.clause("G2")
@pytest.mark.parametrize(("phase", "seat", "asked", "reason"), REFUSED_FIRST)
def test_of_several_reasons_the_first_is_given(phase: str, seat: int, asked: str, reason: str) -> None:
    """Where several refusals would apply the one is given that comes first in the rules' order."""
    rules = rules_of(jokers=4, use_taken=True, discard_differs=False)
    melds = [("4H 5H 6H", 1), ("3H JK 5H", 1)]
    owing = {"taken": read_cards("2C"), "owed": True} if phase == "play" else {}
    hands = ["9D 9S 9H 7H 4H 2C JK JK", "KD KS 2C 3C"]
    state = position(rules, hands, melds=melds, phase=Phase(phase), **owing)
    with pytest.raises(Refused) as refused:
        check(state, seat, read_action(asked))
    assert refused.value.reason == reason


@pytest.mark.clause("B7")
def test_a_joker_swapped_in_must_be_played_in_its_turn() -> None:
    """By `same_turn` a turn does not end, nor its joker become unplayable, before the joker is on the table again."""
    rules = rules_of(jokers=2, joker_swap="same_turn")
    state = position(rules, ["4H 9C 9D 2S", "KD"], melds=[("3H JK 5H", 1)])
    owing = step(state, 0, read_action("swap 4H on 0")).state
    assert owing.owed_jokers == 1
    listed = {write_action(action) for action in legal_actions(owing, 0)}
    assert listed == {"lay down 9C 9D JK", "lay off JK on 0 at low", "lay off JK on 0 at high"}
    with pytest.raises(Refused, match="JOKER_NOT_PLAYED"):
        check(owing, 0, read_action("discard 2S"))
    paid = step(owing, 0, read_action("lay down 9C 9D JK")).state
    assert is_legal(paid, 0, read_action("discard 2S"))


@pytest.mark.clause("B7")
def test_a_joker_that_could_not_be_played_is_not_had() -> None:
    """By `same_turn` a swap is refused where no meld and no lay-off would take the joker again."""
    rules = rules_of(jokers=2, joker_swap="same_turn", lay_off="none")
    state = position(rules, ["4H 9C 2S", "KD"], melds=[("3H JK 5H", 1)])
    with pytest.raises(Refused, match="CARD_NOT_USABLE"):
        check(state, 0, read_action("swap 4H on 0"))
    listed = {write_action(action) for action in legal_actions(state, 0)}
    assert listed == {"discard 4H", "discard 9C", "discard 2S"}


@pytest.mark.clause("G7")
def test_who_may_not_discard_has_nothing_to_discard() -> None:
    """There is nothing to discard for a seat that is not to move, before the draw, and while something is owed."""
    free = position(rules_of(), ["4H 9C", "KD"])
    assert discards(free, 0) == read_cards("9C 4H")
    assert discards(free, 1) == b""
    assert discards(replace(free, phase=Phase.DRAW), 0) == b""
    assert discards(replace(free, owed_jokers=1), 0) == b""


@pytest.mark.clause("B7")
def test_a_lay_that_leaves_the_joker_without_a_place_is_refused() -> None:
    """By `same_turn` a lay-down that uses up the joker's last companions is refused while the joker is owed."""
    rules = rules_of(jokers=2, joker_swap="same_turn", lay_off="none")
    owing = position(rules, ["9C 9D 9S JK 2S", "KD"], melds=[("3H 4H 5H", 1)], owed_jokers=1)
    with pytest.raises(Refused, match="JOKER_NOT_PLAYED"):
        check(owing, 0, read_action("lay down 9C 9D 9S"))
    assert is_legal(owing, 0, read_action("lay down 9C 9D 9S JK"))


@pytest.mark.clause("B6")
def test_none_of_several_cards_taken_is_discarded_in_that_turn() -> None:
    """Where several cards may be taken at once the ban on their discard holds for each of them."""
    rules = rules_of(discard_draw="any")
    state = position(rules, ["7C", "9C"], pile="4C 9D KS", phase=Phase.DRAW)
    then = step(state, 0, Take(2)).state
    assert [write_action(action) for action in legal_actions(then, 0)] == ["discard 7C"]


@pytest.mark.clause("F9")
@pytest.mark.parametrize("count", [-1, 0, 4])
def test_no_more_and_no_less_is_taken_than_lies_there(count: int) -> None:
    """A take of no card, or of more than the pile holds, is refused."""
    state = position(rules_of("rummy500", use_taken=False), ["7C", "9C"], pile="4C 9D KS", phase=Phase.DRAW)
    with pytest.raises(Refused, match="NOT_IN_DISCARD_PILE"):
        check(state, 0, Take(count))


@pytest.mark.clause("P14")
def test_where_the_first_hand_is_void_all_may_lay_down() -> None:
    """If the first player's hand is voided before anybody has knocked, the others need not wait for him."""
    state = position(rules_of("pool500"), ["7C 2C", "7D 8D 9D 2S"], turn=1, knocked=False, voided=(0,))
    assert is_legal(state, 1, read_action("lay down 7D 8D 9D"))


def cards_of(lay: Lay) -> bytes:
    return bytes([lay.card]) if isinstance(lay, SwapJoker) else lay.cards
