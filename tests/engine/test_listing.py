from itertools import permutations

import pytest

from engine.listing import all_melds
from engine.melds import readings
from engine.notation import read_cards
from tests.strategies import rules_of

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
