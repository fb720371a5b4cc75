"""How a bot counts the cards that would make a meld of one of its hand."""

import pytest

from engine.notation import read_cards
from engine.rules import RuleSet
from engine.solver import Effort
from engine.state import State
from engine.view import view
from service.bots.hopes import hopes, sight
from tests.strategies import position, rules_of


def hoped(rules: RuleSet, hand: str, card: str, **fields: object) -> float:
    """The hope of a card of the hand."""
    state: State = position(rules, [hand, "9C", "9C"], **{"pile": "", **fields})
    return hopes(sight(view(state, 0), state.hands[0]), read_cards(card)[0], Effort())


def test_a_card_alone_has_none() -> None:
    """A card that goes with no other of the hand counts on no card: two would have to come."""
    assert hoped(rules_of("basic"), "7C 2D KS", "7C") == 0


def test_each_card_that_would_make_a_meld_counts() -> None:
    """A pair counts on the other two of its rank, a gap on the card that fills it, two neighbours on either end."""
    rules = rules_of("basic")
    assert hoped(rules, "7C 7D KS", "7C") == 2
    assert hoped(rules, "5C 7C KS", "5C") == 1
    assert hoped(rules, "6C 7C KS", "6C") == 2
    assert hoped(rules, "AC 2C KS", "AC") == 1


@pytest.mark.clause("F3")
def test_a_high_ace_counts_on_its_neighbours() -> None:
    """Where the ace may be high, it goes with king and queen as with two and three."""
    assert hoped(rules_of("rummy500"), "AC KC 5D", "AC") == 1
    assert hoped(rules_of("basic"), "AC KC 5D", "AC") == 0


def test_what_lies_on_the_table_comes_no_more() -> None:
    """A card on the table, or in a pile from which only the top is taken, is counted on no longer."""
    rules = rules_of("basic")
    assert hoped(rules, "7C 7D KS", "7C", melds=[("7S 8S 9S", 1)]) == 1
    assert hoped(rules, "7C 7D KS", "7C", pile="7S") == 1


@pytest.mark.clause("F9")
def test_the_pile_may_hold_the_rest() -> None:
    """Where all the pile is open, a card there makes up a meld: in full more than one card to come, in part less."""
    rules = rules_of("rummy500")
    assert hoped(rules, "7C 2D", "7C", pile="7S KD") == 1
    assert hoped(rules, "7C 2D", "7C", pile="7S 7H KD") > hoped(rules, "7C 2D", "7C", pile="7S KD")
    assert hoped(rules, "7C 7D", "7C", pile="KD 7H") > hoped(rules, "7C 7D", "7C", pile="KD", melds=[("7H 8H 9H", 1)])
    assert hoped(rules_of("basic"), "7C 2D", "7C", pile="7S 7H") == 0


@pytest.mark.clause("B1")
def test_as_many_packs_as_the_players_use() -> None:
    """With two packs each card can come twice, also where the number of players makes them two."""
    assert hoped(rules_of("basic", packs=2), "7C 8C", "7C") == 4
    state = position(rules_of("basic"), ["7C 8C", *["9D"] * 5], pile="")
    assert hopes(sight(view(state, 0), state.hands[0]), read_cards("7C")[0], Effort()) == 4


def test_longer_melds_need_more() -> None:
    """Where a set takes four and a run five, two cards of them have no hope yet, all but one have."""
    rules = rules_of("basic", set_min=4, run_min=5)
    assert hoped(rules, "7C 7D KS", "7C") == 0
    assert hoped(rules, "7C 7D 7S 2H", "7C") == 4 - 3
    assert hoped(rules, "4C 5C 6C 8C", "4C") == 1
