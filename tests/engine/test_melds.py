import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actions import End, MeldKind
from engine.cards import JOKER, write_cards
from engine.listing import all_extensions, all_melds
from engine.melds import Extension, extended, extension_at, extensions, readings, swap_place
from engine.notation import read_card, read_cards
from engine.rules import RuleSet
from tests.strategies import meld, rules_of

SHAPES = st.builds(
    lambda ace, set_max, distinct, run_min: rules_of(
        ace=ace, set_max=set_max, distinct_suits=distinct, run_min=run_min, jokers=4, packs=2
    ),
    st.sampled_from(["low", "either"]),
    st.sampled_from([0, 3, 4]),
    st.booleans(),
    st.sampled_from([2, 3, 4]),
)
WHOLE_SUIT = "2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS"
THREE_TO_QUEEN = "3S 4S 5S 6S 7S 8S 9S TS JS QS"
FEW_CARDS = st.lists(st.sampled_from(read_cards("AS 2S 3S 4S KS QS AH KH 4D 4C JK")), max_size=6).map(bytes)


def stands(cards: bytes, low: int, suit: int) -> bool:
    """Whether each card is a joker or just the one that belongs at its place: an oracle without bits."""
    places = [suit * 13 + (position - 1) % 13 for position in range(low, low + len(cards))]
    return all(card in (JOKER, place) for card, place in zip(cards, places, strict=True))


def runs(rules: RuleSet, cards: bytes) -> set[tuple[bytes, int]]:
    """Every run that the cards make in the order given (naturals alone: in any order), with where it begins."""
    if all(card == JOKER for card in cards) or len(cards) < rules.run_min:
        return set()
    orders = {cards} if JOKER in cards else set(itertools.permutations(cards))
    top = 14 if rules.ace == "either" else 13
    spans = [low for low in range(1, 15) if low + len(cards) - 1 <= top and not (low == 1 and low + len(cards) == 15)]
    return {
        (bytes(order), low) for order in orders for low in spans if any(stands(bytes(order), low, s) for s in range(4))
    }


def is_set(rules: RuleSet, cards: bytes) -> bool:
    naturals = [card for card in cards if card != JOKER]
    alike = len({card % 13 for card in naturals}) == 1
    varied = not rules.distinct_suits or (len(set(naturals)) == len(naturals) and len(cards) <= 4)
    return alike and varied and len(cards) >= rules.set_min and len(cards) <= (rules.set_max or 99)


@given(SHAPES, FEW_CARDS)
@pytest.mark.clause("B5")
def test_cards_are_read_as_the_melds_that_they_are(rules: RuleSet, cards: bytes) -> None:
    """Cards are a set where all are of one rank, and a run where each stands at its place in one suit."""
    found = readings(rules, cards)
    assert {(way.cards, way.low) for way in found if way.kind is MeldKind.RUN} == runs(rules, cards)
    assert any(way.kind is MeldKind.SET for way in found) == is_set(rules, cards)


@given(SHAPES, FEW_CARDS)
@pytest.mark.clause("G7")
def test_every_meld_of_a_hand_is_listed_once(rules: RuleSet, hand: bytes) -> None:
    """The list of a hand's melds holds each selection of its cards that is a meld, in each of its readings, once."""
    listed = [(way.kind, way.cards, way.low) for way in all_melds(rules, hand)]
    selections = {cards for size in range(2, len(hand) + 1) for cards in itertools.permutations(hand, size)}
    found = {(way.kind, way.cards, way.low) for cards in selections for way in readings(rules, bytes(cards))}
    assert len(listed) == len(set(listed))
    assert set(listed) == found
    for card in set(hand):
        using = [(way.kind, way.cards, way.low) for way in all_melds(rules, hand, card)]
        assert using == [way for way in listed if card in way[1]]


TABLE = ("5H 6H 7H", "2S 3S 4S", "QS KS JS", "JK 4S 5S", "KS KH JK", "4D 4C 4S", WHOLE_SUIT)


@given(SHAPES, st.sampled_from(TABLE), FEW_CARDS)
@pytest.mark.clause("F13")
def test_cards_are_added_wherever_the_meld_stays_one(rules: RuleSet, lying: str, cards: bytes) -> None:
    """The ways to lay cards off are just those whose result is again a meld, all cards of the meld in their places."""
    if not readings(rules, read_cards(lying)):
        return
    before, found = meld(rules, lying, 1), extensions(rules, meld(rules, lying, 1), cards)
    for way in found:
        assert sorted(way.low + way.high) == sorted(cards)
        now = extended(before, way, 0)
        assert now.low == before.low - (len(way.low) if before.kind is MeldKind.RUN else 0)
        again = readings(rules, now.cards, now.kind)
        assert any(other.low == now.low and sorted(other.cards) == sorted(now.cards) for other in again)
    if before.kind is MeldKind.RUN and cards:
        fitting = set()
        for order in set(itertools.permutations(cards)):
            for below in range(min(before.low, len(cards) + 1)):
                whole = bytes(order[:below]) + before.cards + bytes(order[below:])
                suit = next(card for card in before.cards if card != JOKER) // 13
                low, high = before.low - below, before.low - below + len(whole) - 1
                inside = low >= 1 and high <= (14 if rules.ace == "either" else 13) and (low, high) != (1, 14)
                if inside and stands(whole, low, suit):
                    fitting.add((bytes(order[:below]), bytes(order[below:])))
        assert {tuple(way) for way in found} == fitting


@given(SHAPES, st.sampled_from(TABLE), FEW_CARDS)
def test_every_addition_is_listed_once(rules: RuleSet, lying: str, hand: bytes) -> None:
    """The list of what a hand can add to a meld holds each selection of its cards in each of its places once."""
    if not readings(rules, read_cards(lying)):
        return
    before = meld(rules, lying, 1)
    listed = list(all_extensions(rules, before, hand))
    bags = {tuple(sorted(cards)) for size in range(1, len(hand) + 1) for cards in itertools.combinations(hand, size)}
    assert len(listed) == len(set(listed))
    assert set(listed) == {way for cards in bags for way in extensions(rules, before, bytes(cards))}


@pytest.mark.clause("F13")
@pytest.mark.parametrize(
    ("lying", "cards", "end", "low", "high"),
    [
        ("5H 6H 7H", "JK", "low", "JK", ""),
        ("5H 6H 7H", "JK JK", "high", "", "JK JK"),
        ("5H 6H 7H", "4H JK", "high", "4H", "JK"),
        ("5H 6H 7H", "4H JK", "low", "JK 4H", ""),
        ("5H 6H 7H", "3H JK 8H", "low", "3H JK", "8H"),
        ("5H 6H 7H", "4H", "high", None, None),
        (WHOLE_SUIT, "AS", "low", "AS", ""),
        (WHOLE_SUIT, "AS", "high", "", "AS"),
        (THREE_TO_QUEEN, "AS 2S KS", "low", "AS 2S", "KS"),
        (THREE_TO_QUEEN, "AS 2S KS", "high", "2S", "KS AS"),
        ("3H 4H 5H", "JK JK JK", "low", None, None),
        ("QS KS JS", "JK JK", "high", None, None),
        ("4D 4C 4S", "JK", "low", None, None),
    ],
)
def test_the_named_end_gets_the_free_jokers(
    lying: str, cards: str, end: str, low: str | None, high: str | None
) -> None:
    """The end that is named receives at least one card, all free jokers, and an ace that could go either way."""
    rules = rules_of(ace="either", jokers=4)
    way = extension_at(rules, meld(rules, lying, 0), read_cards(cards), End(end))
    assert way == (None if low is None or high is None else Extension(read_cards(low), read_cards(high)))


@pytest.mark.clause("B7")
@pytest.mark.parametrize(
    ("lying", "card", "place"),
    [
        ("3H 4H JK 6H", "5H", 2),
        ("3H 4H JK 6H", "5D", None),
        ("JK 2S 3S", "AS", 0),
        ("QS KS JK", "AS", 2),
        ("4D JK 4S", "4D", 2),
        ("4D 4C 4S", "4H", None),
        ("3H 4H JK 6H", "JK", None),
    ],
)
def test_a_joker_goes_for_the_card_that_it_stands_for(lying: str, card: str, place: int | None) -> None:
    """A joker in a run is had for the very card that it stands for, one in a set for any card of the rank."""
    rules = rules_of(ace="either", jokers=4)
    assert swap_place(rules, meld(rules, lying, 0), read_card(card)) == place


@pytest.mark.clause("B7")
def test_where_suits_must_differ_a_suit_that_lies_there_frees_no_joker() -> None:
    """With distinct suits only a suit that is absent from the set may be put for its joker."""
    rules = rules_of(distinct_suits=True, jokers=2, packs=2)
    lying = meld(rules, "8C 8D JK", 0)
    assert [write_cards([card]) for card in range(53) if swap_place(rules, lying, card) is not None] == ["8H", "8S"]


@pytest.mark.clause("F13")
@pytest.mark.parametrize(
    ("cards", "lows"), [(f"AS {WHOLE_SUIT}", [1]), (f"{WHOLE_SUIT} AS", [2]), (f"3D AD 2D {WHOLE_SUIT}", [])]
)
def test_a_whole_suit_says_by_its_order_where_its_ace_is(cards: str, lows: list[int]) -> None:
    """All thirteen cards of a suit, named in order, are a run with the ace where it is named."""
    assert [way.low for way in readings(rules_of(ace="either"), read_cards(cards))] == lows


@pytest.mark.clause("F13")
def test_a_whole_suit_out_of_order_is_read_in_two_ways() -> None:
    """All thirteen cards of a suit, named in no order, could have the ace at either end."""
    cards = read_cards(WHOLE_SUIT.replace("2S", "AS 2S").replace("KS", "").strip())
    shuffled = cards[::-1] + read_cards("KS")
    assert [way.low for way in readings(rules_of(ace="either"), shuffled)] == [1, 2]
    assert [way.low for way in readings(rules_of(ace="low"), shuffled)] == [1]


@pytest.mark.clause("F2")
@pytest.mark.parametrize("cards", ["4C 4D 4H 4S JK", "4C 4D JK JK JK"])
def test_where_suits_must_differ_a_set_has_four_cards_at_most(cards: str) -> None:
    """With distinct suits a joker, too, stands for a suit of its own, so a fifth card has none left."""
    few, many = (rules_of(distinct_suits=distinct, jokers=4) for distinct in (True, False))
    assert readings(few, read_cards(cards)) == []
    assert [way.kind for way in readings(many, read_cards(cards))] == [MeldKind.SET]
    assert not any(len(way.cards) > 4 for way in all_melds(few, read_cards(cards)))
    assert extensions(few, meld(few, "4C 4D 4H JK", 0), read_cards("4S")) == []


@pytest.mark.clause("F3")
def test_no_run_holds_an_ace_at_both_ends() -> None:
    """A whole suit with a second ace or a joker to go on with still makes no run of fourteen."""
    hand = read_cards(f"AS AS JK {WHOLE_SUIT}")
    listed = list(all_melds(rules_of(ace="either", packs=2, jokers=2), hand))
    assert max(len(way.cards) for way in listed) == 13
    assert all(readings(rules_of(ace="either"), way.cards, way.kind) == [way] for way in listed)
