from itertools import combinations, pairwise, permutations
from typing import Any

import pytest

from engine import listing
from engine.lays import possible_lays
from engine.legal import legal_actions
from engine.listing import all_extensions, all_melds
from engine.melds import Extension, Reading, extensions, readings
from engine.notation import read_cards, write_action
from tests.strategies import meld, position, rules_of

HANDS = ["7H JK JK JK", "AS JK JK JK JK", "AS KS JK JK JK", "7H 8H 7C JK JK JK", "AC 2C 3C KC QC", "7H 7H 8H 9H 9H"]


@pytest.mark.clause("G7")
@pytest.mark.parametrize("ace", ["low", "either"])
@pytest.mark.parametrize("hand", HANDS)
def test_each_meld_is_listed_once(hand: str, ace: str) -> None:
    """With more jokers than the shortest run has cards, too, every reading of cards in any order is listed once."""
    rules, cards = rules_of(ace=ace), read_cards(hand)
    orders = {bytes(order) for size in range(3, len(cards) + 1) for order in permutations(cards, size)}
    expected = {way for order in orders for way in readings(rules, order)}
    listed = list(all_melds(rules, bytes(sorted(cards))))
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


ADDITIONS = [
    ("low", "2S 3S 4S 5S 6S 7S 8S 9S TS JS QS", "AS KS"),
    ("either", "2S 3S 4S 5S 6S 7S 8S 9S TS JS QS", "AS KS"),
    ("either", "3H JK 5H", "AH 2H 6H 7H JK JK"),
    ("either", "QS KS AS", "JS TS AS JK"),
    ("low", "JK 2S 3S", "AS KS 4S JK"),
    ("low", "4C 4D JK", "4H 4H 4S JK"),
]


@pytest.mark.clause("G7")
@pytest.mark.parametrize(("ace", "lying", "hand"), ADDITIONS)
def test_each_addition_is_listed_once(ace: str, lying: str, hand: str) -> None:
    """Each way to add any of the hand's cards to a meld, at both ends at once and up to a whole suit, is listed."""
    rules, cards = rules_of(ace=ace), read_cards(hand)
    before = meld(rules, lying, 1)
    bags = {bytes(sorted(bag)) for size in range(1, len(cards) + 1) for bag in combinations(cards, size)}
    listed = list(all_extensions(rules, before, bytes(sorted(cards))))
    assert len(listed) == len(set(listed))
    assert set(listed) == {way for bag in bags for way in extensions(rules, before, bag)}


@pytest.mark.clause("G7")
def test_a_kind_is_named_only_where_it_must_be() -> None:
    """A listed lay-down says set or run where its cards could be both, and nowhere else."""
    state = position(rules_of(jokers=3, set_max=3, lay_off="none"), ["7H JK JK JK", "9C"])
    lays = sorted(write_action(lay) for lay in possible_lays(state, 0))
    assert [lay for lay in lays if " as " in lay] == [
        "lay down 7H JK JK as run",
        "lay down 7H JK JK as set",
        "lay down JK 7H JK as run",
        "lay down JK JK 7H as run",
    ]
    assert "lay down 7H JK JK JK" in lays


LONG = "AC 2C 3C 4C 5C 6C 7C 8C 9C TC 7D 7H 7S JK JK JK JK"
LAZY = [
    ({}, {}, 10),
    ({"go_out": "discard"}, {}, 10),
    ({"joker_swap": "same_turn"}, {"owed_jokers": 1}, 10),
    ({"use_taken": True}, {"taken": read_cards("7C"), "owed": True}, 150),  # some hold no 7C, and are passed over
]


@pytest.mark.clause("G7")
@pytest.mark.parametrize(("options", "fields", "most"), LAZY)
def test_actions_are_made_as_they_are_asked_for(options: dict[str, Any], fields: dict[str, Any], most: int) -> None:
    """Of a hand that makes thousands of melds and lay-offs only a few are worked out for each action of the list."""
    melds = [("JC QC KC", 1), ("4H 5H 6H", 1)]
    state = position(rules_of(jokers=4, **options), [LONG, "9C"], melds=melds, **fields)
    made = list[object]()

    def counted(*way: Any) -> Reading | Extension:
        made.append(way)
        return Reading(*way) if len(way) == 3 else Extension(*way)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "Reading", counted)
        patch.setattr(listing, "Extension", counted)
        made_by = [len(made) for _ in legal_actions(state, 0)]
    assert len(made) > 4000
    assert max(after - before for before, after in pairwise([0, *made_by])) <= most
