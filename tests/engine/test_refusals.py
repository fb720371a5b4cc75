import ast
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine import draws, lays, legal
from engine.actions import Action, LayDown, LayOff
from engine.errors import Refused
from engine.legal import check
from engine.notation import read_action, read_cards
from engine.state import Phase, State
from engine.step import step
from tests.strategies import position, rules_of


class Row(NamedTuple):
    """A refusal: the rules that differ, the position's fields, the action asked for, and all that is said of it.

    `foul`: where fouls count it is one (P15).
    """

    rules: Mapping[str, object]
    fields: Mapping[str, Any]
    asked: str
    reason: str
    clause: str
    field: str
    cards: str
    says: str
    foul: bool = False


HAND = "9C 9D 4H 7H 2S KS"
MELDS = [("4H 5H 6H", 1), ("3H JK 5H", 0), ("8C 8D 8S", 1)]
OWED = {"taken": read_cards("2S KS"), "owed": True}
JOKER_OWED = {"joker_swap": "same_turn"}
DRAW = {"phase": Phase.DRAW}
EMPTY = {"stock": "", "pile": "3C"}

ROWS = [
    Row({}, {"phase": Phase.MATCH_OVER}, "draw", "MATCH_OVER", "B9", "", "", "over"),
    Row({}, {"turn": 1}, "discard 9C", "NOT_YOUR_TURN", "B2", "", "", "seat 1 is to move"),
    Row({}, DRAW, "discard 9C", "WRONG_PHASE", "B6", "", "", "begins with a card from the stock"),
    Row({}, {}, "draw", "WRONG_PHASE", "B6", "", "", "drawn already"),
    Row({}, {"phase": Phase.DEAL_OVER}, "draw", "WRONG_PHASE", "B6", "", "", "the deal is over"),
    Row({}, DRAW, "pass", "WRONG_PHASE", "F14", "stock_empty", "", "stock or the discard pile"),
    Row({}, {**DRAW, **EMPTY}, "draw", "STOCK_EMPTY", "B8", "stock_empty", "", "1 cards in the discard pile"),
    Row({"preset": "rummy500"}, {**DRAW, **EMPTY}, "draw", "STOCK_EMPTY", "F14", "stock_empty", "", "1 cards"),
    Row({}, DRAW, "take 2", "DISCARD_PILE_CLOSED", "B6", "discard_draw", "", "only its top card"),
    Row({"discard_draw": "none"}, DRAW, "take 1", "DISCARD_PILE_CLOSED", "P12", "discard_draw", "", "nothing is taken"),
    Row({}, {**DRAW, "pile": ""}, "take 1", "DISCARD_PILE_EMPTY", "F9", "", "", "empty"),
    Row({"discard_draw": "any"}, DRAW, "take 5", "NOT_IN_DISCARD_PILE", "F9", "", "", "5 cards .* pile of 4"),
    Row({}, DRAW, "take 0", "NOT_IN_DISCARD_PILE", "F9", "", "", "0 cards cannot be taken"),
    Row({"preset": "rummy500"}, DRAW, "take 4", "CARD_NOT_USABLE", "F10", "use_taken", "KC", "KC could be used"),
    Row({}, {"knocked": False, "dealer": 0}, "lay down 9C", "LAYING_DOWN_CLOSED", "P14", "opening_order", "", "until"),
    Row({"lay_off": "none"}, {}, "lay off 7H on 0", "LAY_OFF_CLOSED", "B6", "lay_off", "", "nobody lays off"),
    Row({"lay_off": "own"}, {}, "lay off 7H on 0", "LAY_OFF_CLOSED", "B6", "lay_off", "", "its own melds"),
    Row({}, {}, "lay off 7H on 3", "NO_SUCH_MELD", "F13", "", "", "no meld 3 on the table; there are 3"),
    Row({}, {}, "swap 4H on 9", "NO_SUCH_MELD", "F13", "", "", "no meld 9"),
    Row({}, {}, "lay down 9C 9H 9S", "CARD_NOT_IN_HAND", "B5", "", "9C 9H 9S", "does not hold 9C 9H 9S"),
    Row({}, {}, "lay off 8H on 0", "CARD_NOT_IN_HAND", "B5", "", "8H", "does not hold 8H"),
    Row({}, {}, "swap 3C on 1", "CARD_NOT_IN_HAND", "B5", "", "3C", "does not hold 3C"),
    Row({}, {}, "discard 3C", "CARD_NOT_IN_HAND", "B6", "", "3C", "does not hold 3C"),
    Row({}, {}, "lay down 9C 9D 2S", "NOT_A_MELD", "B5", "", "9C 9D 2S", "9C 9D 2S is no set and no run", foul=True),
    Row(
        {}, {"hand": "9C 9D 9H 2S"}, "lay down 9C 9D 9H as run", "NOT_A_MELD", "B5", "", "9C 9D 9H", "is no run",
        foul=True,
    ),
    Row(
        {}, {"hand": "7C 8C 9C 2S"}, "lay down 7C 8C 9C as set", "NOT_A_MELD", "B5", "", "7C 8C 9C", "is no set",
        foul=True,
    ),
    Row({}, {"hand": "7H JK JK"}, "lay down 7H JK JK", "AMBIGUOUS_PLACE", "B7", "", "7H JK JK", "two ways"),
    Row({}, {}, "lay off KS on 0", "NOT_A_LAY_OFF", "B6", "", "KS", "KS does not fit on 4H 5H 6H", foul=True),
    Row({}, {}, "lay off 7H on 0 at low", "NOT_A_LAY_OFF", "B6", "", "7H", "at the low end of 4H 5H 6H", foul=True),
    Row({}, {"hand": "8H 2S"}, "lay off 8H on 2 at low", "NOT_A_LAY_OFF", "F13", "", "8H", "no ends"),
    Row({}, {"hand": "JK 2S"}, "lay off JK on 0", "AMBIGUOUS_PLACE", "F13", "", "JK", "either end of 4H 5H 6H"),
    Row({"joker_swap": "never"}, {}, "swap 4H on 1", "NO_JOKER_TO_SWAP", "P10", "joker_swap", "4H", "stay where"),
    Row({}, {}, "swap 7H on 1", "NO_JOKER_TO_SWAP", "B7", "", "7H", "no joker of 3H JK 5H stands for 7H"),
    Row({}, OWED, "lay off 7H on 0", "TAKEN_CARD_UNUSED", "F10", "use_taken", "2S", "must contain 2S"),
    Row({}, OWED, "swap 4H on 1", "TAKEN_CARD_UNUSED", "F10", "use_taken", "2S", "must contain 2S"),
    Row({}, OWED, "discard 9C", "TAKEN_CARD_UNUSED", "F10", "use_taken", "2S", "^[^:]*: 2S was taken to be used"),
    Row(
        {**JOKER_OWED, "lay_off": "none"}, {"hand": "4H 2S KS"}, "swap 4H on 1", "CARD_NOT_USABLE", "B7", "joker_swap",
        "JK", "could not be played",
    ),
    Row(
        {**JOKER_OWED, "lay_off": "none"}, {"hand": "9C 9D 9H JK 2S", "owed_jokers": 1}, "lay down 9C 9D 9H",
        "JOKER_NOT_PLAYED", "B7", "joker_swap", "JK", "could then not be played",
    ),
    Row(
        JOKER_OWED, {"hand": "9C 9D JK", "owed_jokers": 1}, "discard 9C", "JOKER_NOT_PLAYED", "B7", "joker_swap", "JK",
        "must be played in this turn",
    ),
    Row(
        {}, {"taken": read_cards("2S")}, "discard 2S", "SAME_CARD_AS_TAKEN", "B6", "discard_differs", "2S",
        "2S was just taken",
    ),
    Row(
        {"go_out": "discard"}, {"hand": "7H"}, "lay off 7H on 0", "DISCARD_REQUIRED", "B4", "go_out", "7H",
        "kept for the discard",
    ),
    Row({}, {}, "pass", "DISCARD_REQUIRED", "B6", "discard", "", "ends with a discard"),
    Row({"discard": "optional"}, {"round": 1}, "pass", "DISCARD_REQUIRED", "P11", "discard", "", "in round 1"),
]  # fmt: skip


def placed(row: Row) -> State:
    closed = {"opening_order": "first_player"} if row.clause == "P14" else {}
    rules = rules_of(**{"preset": "basic", "jokers": 4, "packs": 2, **closed, **row.rules})  # type: ignore[arg-type]
    fields = {"melds": MELDS, **row.fields}
    return position(rules, [fields.pop("hand", HAND), "3C 3D"], **fields)


@pytest.mark.clause("G2")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.reason} {row.asked}")
def test_a_refusal_says_why_by_which_rule_and_for_which_cards(row: Row) -> None:
    """Each refusal has its reason, the clause and the field of the rules behind it, the cards concerned, and a text."""
    with pytest.raises(Refused, match=row.says) as refused:
        check(placed(row), 0, read_action(row.asked))
    found = refused.value
    assert (found.reason, found.clause, found.field, found.cards) == (row.reason, row.clause, row.field, row.cards)


@pytest.mark.clause("P15")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.reason} {row.asked}")
def test_cards_held_that_make_or_fit_no_meld_are_a_foul_and_nothing_else_is(row: Row) -> None:
    """Where fouls count, of all refusals those alone void a hand that are for cards held, laid in no valid way."""
    state = placed(row._replace(rules={**row.rules, "foul": "void_hand"}))
    if row.foul:
        assert step(state, 0, read_action(row.asked)).state.voided == (0,)
    else:
        with pytest.raises(Refused) as refused:
            step(state, 0, read_action(row.asked))
        assert refused.value.reason == row.reason


NO_CARD_NAMED: list[Action] = [LayDown(b""), LayOff(0, b"")]


@pytest.mark.parametrize("action", NO_CARD_NAMED, ids=["lay down", "lay off"])
def test_a_lay_of_no_card_is_refused(action: Action) -> None:
    """To lay no card is no meld and no lay-off, and no foul either."""
    with pytest.raises(Refused, match="no card is named") as refused:
        check(position(rules_of("pool500"), [HAND, "3C"], melds=MELDS[:1]), 0, action)
    assert type(refused.value) is Refused


def test_every_place_that_refuses_is_in_the_table() -> None:
    """Each line of the engine that refuses an action is the one that a row meets, or that a lay of no card does."""
    asked = [(placed(row), read_action(row.asked)) for row in ROWS]
    asked += [(position(rules_of(), [HAND, "3C"], melds=MELDS[:1]), action) for action in NO_CARD_NAMED]
    met = {raised_by(state, action) for state, action in asked}
    for module in (draws, lays, legal):
        name = str(module.__file__)
        places = [node for node in ast.walk(ast.parse(Path(name).read_text())) if isinstance(node, ast.Raise)]
        missed = [place.lineno for place in places if not any((name, line) in met for line in lines_of(place))]
        assert (name, missed) == (name, [])


def raised_by(state: State, action: Action) -> tuple[str, int]:
    """The file and the line that refuses the action."""
    try:
        check(state, 0, action)
    except Refused as refused:
        last = list(traceback.walk_tb(refused.__traceback__))[-1]
        return last[0].f_code.co_filename, last[1]
    raise AssertionError(action)


def lines_of(place: ast.Raise) -> range:
    return range(place.lineno, (place.end_lineno or place.lineno) + 1)
