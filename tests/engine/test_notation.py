import pytest
from hypothesis import given, settings

from engine.cards import JOKER, deck, write_cards
from engine.errors import BadNotation
from engine.legal import legal_actions
from engine.notation import (
    read_action,
    read_card,
    read_cards,
    read_event,
    read_meld,
    read_position,
    write_action,
    write_event,
    write_meld,
    write_position,
)
from engine.presets import PRESETS
from engine.rules import RuleSet
from engine.state import State
from engine.step import step
from engine.view import preview, redact
from tests.strategies import meld, moments, position, rules_of, seeds, tables


def test_every_card_has_a_text_of_its_own() -> None:
    """Each card is written as rank and suit, the joker as JK, and read back."""
    cards = deck(1, 1)
    assert write_cards(cards).startswith("AC 2C 3C")
    assert write_cards(cards).endswith("QS KS JK")
    assert read_cards(write_cards(cards)) == cards
    assert len({write_cards([card]) for card in cards}) == JOKER + 1


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
def test_everything_in_a_match_can_be_written_and_read_back(table: tuple[RuleSet, int], seed: int) -> None:
    """Positions, melds, events, redacted or not, and legal actions are the same again after writing and reading."""
    for state, action in moments(*table, seed, most=40):
        assert read_position(write_position(state)) == state
        for lying in state.melds:
            assert read_meld(write_meld(lying)) == lying
        events = step(state, state.turn, action).events
        for event in (*events, *preview(events), *(redact(event, None) for event in events)):
            assert read_event(write_event(event)) == event
        for legal in legal_actions(state, state.turn):
            assert read_action(write_action(legal)) == legal


@pytest.mark.parametrize(
    "written",
    [
        "draw",
        "pass",
        "take 3",
        "discard 9C",
        "swap 5H on 0",
        "lay down 3H 4H JK 6H",
        "lay down 7H JK JK as run",
        "lay off 8H 9H on 12 at high",
        "lay off 8H on 0",
    ],
)
def test_an_action_reads_as_it_is_written(written: str) -> None:
    """The text of an action is just what a person would write."""
    assert write_action(read_action(written)) == written


@pytest.mark.parametrize(
    "wrong",
    ["", "Draw", "draw 2", "take", "take -1", "discard", "discard 1C", "discard 9C 9D", "lay down", "lay off 8H",
     "take 03", "take ٣", "take 1234567890", "lay off 8H on 00", "swap 5H on ٣", "swap 5H on " + "9" * 5000,
     "lay off 8H on x", "lay down 7H JK JK as pair", "swap JK", "pass on"],
)  # fmt: skip
def test_a_text_that_is_no_action_is_named(wrong: str) -> None:
    """What is no action is refused with the text that was found."""
    with pytest.raises(BadNotation):
        read_action(wrong)


@pytest.mark.parametrize("wrong", ["1C", "10C", "as", "A", "", "CA", "JOKER"])
def test_a_text_that_is_no_card_is_named(wrong: str) -> None:
    """What is no card is refused with the text that was found."""
    with pytest.raises(BadNotation) as bad:
        read_card(wrong)
    assert (bad.value.what, bad.value.text) == ("a card", wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "run 3H 4H 5H by 0 ٣ 0 from 0",
        "run 3H 4H 5H by 0 0 0 from 8",
        "run",
        "run 3H 4H 5H by 0 0 from 0",
        "run JK JK JK by 0 0 0 from 0",
        "pair 3H 3D by 0 0 from 0",
        "run 3H by 0",
    ],
)
def test_a_text_that_is_no_meld_is_named(wrong: str) -> None:
    """What is no meld is refused."""
    with pytest.raises(BadNotation):
        read_meld(wrong)


@pytest.mark.parametrize(
    "cards", ["AS 2S 3S", "QS KS AS", "JK JK AS", "AS JK JK", "JK 4S JK", "9C 9D JK", "JS QS JK JK"]
)
def test_a_meld_keeps_its_place(cards: str) -> None:
    """Where a run begins is told by its cards alone."""
    lying = meld(rules_of(ace="either", jokers=4), cards, 1)
    assert read_meld(write_meld(lying)) == lying


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("turn=0", "turn=x"), ("phase=play", "phase=later"), ("turn=0", "turns=0"), ("knocked=yes", "knocked=maybe"),
     ("rules=[basic]", "rules=[chess]"), ("pile=[KC 2C 2D 2S]", "pile=KC"), ("deal=1 ", ""),
     ("turn=0", "turn=0 turn=1"),
     ("hands=[7C|9C]", "hands=[7C|10C]"), ("seed=00", "seed=0g"),
     ("turn=0", "turn=00"), ("turn=0", "turn=٣"), ("turn=0", "turn=+0"), ("turn=0", "turn=" + "9" * 5000),
     ("scores=[0 0]", "scores=[0 0_0]"), ("seed=00", "seed=0A"), ("seed=00", "seed= 00"),
     ("rules=[basic]", "rules=[basic deals=2 deals=2]")],
)  # fmt: skip
def test_a_position_with_a_wrong_field_is_named(field: str, wrong: str) -> None:
    """A field that is unknown, missing, doubled or of no sense is refused by its name."""
    written = write_position(position(rules_of(), ["7C", "9C"]))
    assert field in written
    with pytest.raises(BadNotation):
        read_position(written.replace(field, wrong, 1))


@pytest.mark.parametrize("wrong", ["", "drew", "drew seat=0", "sang seat=0", "passed seat=0 card=9C"])
def test_a_text_that_is_no_event_is_named(wrong: str) -> None:
    """What is no event is refused."""
    with pytest.raises(BadNotation):
        read_event(wrong)


@pytest.mark.parametrize("preset", PRESETS)
def test_rules_are_written_as_their_nearest_preset(preset: str) -> None:
    """A position names a preset, and only what its rules change in it."""

    def rules_in(state: State) -> str:
        return write_position(state).partition("rules=[")[2].partition("]")[0]

    assert rules_in(position(PRESETS[preset], ["7C", "9C"])) == preset
    changed = position(rules_of(preset, run_min=4, ace="either", packs=1), ["7C", "9C"])
    assert "run_min=4" in rules_in(changed)
    assert read_position(write_position(changed)) == changed
