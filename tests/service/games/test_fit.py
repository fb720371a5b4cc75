from hypothesis import given
from hypothesis import strategies as st

from engine.faults import faults
from engine.rules import RuleSet
from service.games.fit import faults_at, settled
from tests.strategies import rules_of, tables


def found(seat_count: int, preset: str = "basic", **overrides: object) -> set[tuple[str, str]]:
    return {(fault.field, fault.reason) for fault in faults_at(rules_of(preset, **overrides), seat_count)}


def test_a_rule_set_suits_every_number_of_players_that_a_match_may_begin_with() -> None:
    """Six share two packs, five have only one: hands that five could not be dealt are refused for a table of six."""
    assert faults(rules_of(hand_size=12), 6) == []
    assert found(6, hand_size=12) == {("hand_size", "TOO_MANY_CARDS")}
    assert found(6, hand_size=12, seats=[6, 6]) == set()
    assert found(4, hand_size=12) == set()


def test_more_players_than_seats_do_not_count() -> None:
    """What only more players than the table has seats would be short of is no fault of this table."""
    assert found(3, "pool500", hand_size=26) == set()
    assert found(4, "pool500", hand_size=26) == {("hand_size", "TOO_MANY_CARDS")}


def test_a_wrong_number_of_seats_is_a_fault_of_its_own() -> None:
    """Too few seats, or too many, are told apart from a range of seats that is none."""
    assert found(5, "pool500") == {("seat_count", "OUT_OF_RANGE")}
    assert found(2, seats=[3, 4]) == {("seat_count", "OUT_OF_RANGE")}
    assert found(3, seats=[4, 2]) == {("seats", "OUT_OF_RANGE")}


def test_a_pack_dealt_to_the_last_card_is_refused() -> None:
    """Where no card is left to draw nobody could ever move, and a match would go on without end by itself."""
    assert found(2, hand_size=26, up_card=False, target=100, deals=0) == {("hand_size", "TOO_MANY_CARDS")}
    assert found(2, hand_size=25, up_card=False, target=100, deals=0) == set()


def test_a_pack_may_be_drawn_to_the_last_card() -> None:
    """The opening draws may take what is left: so four play Pool Rummy with all 106 cards (P7)."""
    assert found(2, packs=1, jokers=1, hand_size=23, up_card=False, opening_draw=3) == set()
    assert found(2, packs=1, jokers=0, hand_size=23, up_card=False, opening_draw=3) == {("hand_size", "TOO_MANY_CARDS")}


def test_what_several_numbers_of_players_are_short_of_is_told_of_the_most() -> None:
    """Who asks for four seats hears of four players where they are too many, else of the most that are."""
    (four,) = faults_at(rules_of(hand_size=30), 4)
    assert four.text.startswith("4 players are dealt 121 cards")
    (five,) = faults_at(rules_of(hand_size=12), 6)
    assert five.text.startswith("5 players are dealt 61 cards")


def test_no_number_is_too_large_to_be_judged() -> None:
    """Numbers of any size are faults, told at once."""
    huge = 2**31 - 1
    assert found(huge, seats=[-huge, huge]) == {("seats", "OUT_OF_RANGE"), ("seat_count", "OUT_OF_RANGE")}
    assert found(-huge, seats=[2, 2], jokers=huge, hand_size=huge) == {
        ("seat_count", "OUT_OF_RANGE"),
        ("jokers", "OUT_OF_RANGE"),
        ("hand_size", "OUT_OF_RANGE"),
    }


@given(tables(), st.data())
def test_what_fits_a_table_fits_each_match_there(table: tuple[RuleSet, int], data: st.DataObject) -> None:
    """A rule set without faults at a table has none for any number of players that may begin there."""
    rules, seats = table
    players = data.draw(st.integers(rules.seats[0], seats))
    if not faults_at(rules, seats):
        assert faults(rules, players) == []


def test_the_number_of_players_settles_packs_and_hands() -> None:
    """What a rule set leaves to the number of players is filled in, and nothing that it says is changed."""
    assert [(settled(rules_of(), n).packs, settled(rules_of(), n).hand_size) for n in (2, 3, 5, 6)] == [
        (1, 10),
        (1, 7),
        (1, 7),
        (2, 10),
    ]
    assert settled(rules_of("rummy500"), 2).hand_size == 13
    assert settled(rules_of(hand_size=5, packs=3), 2) == rules_of(hand_size=5, packs=3)
