import json
import re
from enum import StrEnum
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec.structs import fields, replace

from engine.casefile import Case, CaseError, position_of, read_case_file
from engine.cases import failures, main
from engine.presets import PRESETS
from engine.rules import RuleSet

FOLDER = Path(__file__).parent.parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.json")) for case in read_case_file(path)]
REFUSING = {
    "ace", "discard", "discard_differs", "discard_draw", "distinct_suits", "finish_round", "foul", "go_out",
    "joker_swap", "lay_off", "opening_order", "run_min", "set_max", "set_min", "stock_empty", "top_free", "use_taken",
}  # fmt: skip
"""The fields of a rule set by which an action is allowed or refused; all others deal, count, or end something."""
encoder = msgspec.json.Encoder(order="deterministic")
ONE: dict[str, object] = {
    "id": "X-1",
    "clause": "B6",
    "why": "a turn ends with a discard",
    "rules": {"preset": "basic"},
    "position": {"hands": ["9C 2C", "9D"], "stock": "2D", "discard": "KC", "phase": "play"},
    "do": [[0, {"discard": "9C"}]],
    "expect": {"turn": 1, "hands": ["2C", "9D"], "discard": "KC 9C"},
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id, marks=pytest.mark.clause(case.clause)) for case in CASES]
)
def test_each_case_comes_as_it_is_expected(case: Case) -> None:
    """In each position of the case files the actions come to what the rules say."""
    assert failures(case) == []


def test_the_cases_are_there() -> None:
    """The case files hold cases for each clause of the three games, and no id twice."""
    ids, clauses = [case.id for case in CASES], {case.clause for case in CASES}
    assert len(ids) == len(set(ids))
    games = {*(f"B{n}" for n in range(1, 12)), *(f"F{n}" for n in range(1, 15)), *(f"P{n}" for n in range(1, 19))}
    assert clauses == games | {"P25", "P26"}


def test_every_option_is_shown_by_cases() -> None:
    """Each field of a rule set is set by cases of its own: to every word or flag, or to a number that no preset has."""
    for field in fields(RuleSet):
        shown = {getattr(position_of(case).rules, field.name) for case in CASES if field.name in case.rules}
        words = words_of(field.type)
        assert shown >= words, field.name
        assert words or shown - {getattr(preset, field.name) for preset in PRESETS.values()}, field.name


def test_cases_tell_the_numbers_of_an_option_apart() -> None:
    """Of a number that cases set a field to, and any other that cases or presets have, one played for the other shows.

    So a case does not claim a number that makes no difference in it, unless another case of the field does.
    """
    for name in RuleSet.__struct_fields__:
        naming = [case for case in CASES if type(case.rules.get(name)) is int]
        named: set[int] = {case.rules[name] for case in naming}
        known = named | {value for preset in PRESETS.values() if type(value := getattr(preset, name)) is int}
        shown = {
            frozenset({case.rules[name], other})
            for case in naming
            for other in known - {case.rules[name]}
            if fails_with(case, name, other)
        }
        assert {frozenset({one, other}) for one in named for other in known - {one}} <= shown, name


def fails_with(case: Case, name: str, value: object) -> bool:
    """Whether the case comes otherwise with the field set to another value; one that it cannot have shows nothing."""
    try:
        return bool(failures(replace(case, rules={**case.rules, name: value})))
    except CaseError:
        return False


def words_of(kind: object) -> set[object]:
    """All values that a field may take, where these are words or flags."""
    (one, *_) = get_args(kind) or (kind,)
    if one is bool:
        return {True, False}
    return set(one) if isinstance(one, type) and issubclass(one, StrEnum) else set()


def test_every_option_that_can_refuse_is_shown_to() -> None:
    """Where a field decides whether an action is refused, the same is done twice: by one value accepted, by one not."""
    twins: dict[bytes, list[Case]] = {}
    for case in CASES:
        for name in case.rules.keys() - {"preset"}:
            rest = {key: value for key, value in case.rules.items() if key != name}
            twins.setdefault(encoder.encode((name, rest, case.position, case.do)), []).append(case)
    shown = set[str]()
    for key, cases in twins.items():
        refused = [case for case in cases if case.expect.refused]
        if refused and len(refused) < len(cases):
            (name, *_) = msgspec.json.decode(key)
            shown.add(name)
    assert shown == REFUSING


def test_no_option_that_can_refuse_is_left_out() -> None:
    """Every field that a refusal names as what decided it is among those that have to be shown."""
    sources = "".join(path.read_text() for path in (FOLDER.parents[1] / "engine").glob("*.py"))
    named = set(re.findall(r"\bfield=\"(\w+)\"", sources))
    assert named
    assert named <= REFUSING


def one(tmp_path: Path, **changed: object) -> Path:
    path = tmp_path / "one.json"
    path.write_text(json.dumps([{**ONE, **changed}]))
    return path


def test_a_case_that_holds_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of cases prints one line for each and answers with exit code 0."""
    assert main([str(one(tmp_path))]) == 0
    assert capsys.readouterr().out.splitlines() == ["ok   X-1      a turn ends with a discard", "1 cases, 0 failed"]


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"turn": 0}, "turn: expected 0, found 1"),
        ({"hands": ["2D", "9D"]}, "hands: expected ['2D', '9D'], found ['2C', '9D']"),
        ({"discard": "9C KC"}, "discard: expected 9C KC, found KC 9C"),
        ({"stock": ""}, "stock: expected , found 2D"),
        ({"table": ["7C 7D 7S"]}, "table: expected ['7C 7D 7S'], found []"),
        ({"refused": "NOT_A_MELD"}, "refused: expected NOT_A_MELD, and all was accepted"),
        ({"winners": [0]}, "winners: expected (0,), found None"),
        ({"void": True}, "void: expected True, found False"),
        ({"settlement": [0, 0]}, "settlement: expected (0, 0), found None"),
        ({"voided": [1]}, "voided: expected (1,), found ()"),
        (
            {"dealt": {"hands": [7, 7], "stock": 37, "discard": 1}},
            "dealt: expected Dealt(hands=(7, 7), stock=37, discard=1, pool=0), found None",
        ),
    ],
)
def test_a_case_that_fails_says_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expect: dict[str, object], told: str
) -> None:
    """What came otherwise is named with what was expected and what was found, and the exit code is 1."""
    assert main([str(one(tmp_path, expect=expect))]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["FAIL X-1      a turn ends with a discard", f"     {told}", "1 cases, 1 failed"]


def test_a_refusal_that_is_not_the_expected_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An action refused for another reason, or one before the last that is refused at all, fails its case."""
    wrong = [[0, {"discard": "9D"}]]
    assert main([str(one(tmp_path, do=wrong, expect={"refused": "NOT_A_MELD"}))]) == 1
    assert main([str(one(tmp_path, do=wrong * 2, expect={"refused": "CARD_NOT_IN_HAND"}))]) == 1
    assert main([str(one(tmp_path, do=wrong, expect={"refused": "*"}))]) == 0
    assert "do[0], 'discard 9D', is refused: CARD_NOT_IN_HAND" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"rules": {"preset": "chess"}}, "X-1: rules: preset"),
        ({"rules": {"preset": "basic", "jokerz": 2}}, "X-1: rules: jokerz"),
        ({"rules": {"preset": "basic", "set_max": 2}}, "X-1: rules: set_max"),
        ({"position": {"hands": ["9C 2C", "9X"]}}, "X-1: position.hands[1]: not a card: '9X'"),
        ({"position": {"hands": ["9C"], "hand": []}}, "$[0].position"),
        ({"position": {"hands": ["9C", "9D"], "phase": "sleep"}}, "$[0].position.phase"),
        ({"position": {"hands": ["9C", "9D"], "turn": 2}}, "X-1: there is no seat 2"),
        ({"position": {"hands": ["9C", "9D"], "scores": [1]}}, "X-1: position.scores"),
        ({"position": {"hands": ["9C", "9D"], "table": [{"cards": "2C 3D 4C", "owner": 0}]}}, "X-1: position.table[0]"),
        ({"position": {"hands": ["9C", "9D"], "table": [{"cards": "2C 3C 4C"}]}}, "X-1: position.table[0]"),
        (
            {"position": {"hands": ["9C", "9D"], "table": [{"cards": "2C 3C 4C", "owners": [0, 1]}]}},
            "position.table[0]",
        ),
        ({"do": [[0, {"discard": "9C", "draw": "stock"}]]}, "X-1: do[0]: an action has just one key"),
        ({"do": [[0, {}]]}, "X-1: do[0]: an action has just one key"),
        ({"do": [[0, {"draw": "pile"}]]}, "$[0].do[0][1].draw"),
        ({"do": [[0, {"meld": "9C 0C"}]]}, "X-1: do[0]: not a card: '0C'"),
        ({"do": [[0, {"swap_joker": {"meld": 0, "card": "0C"}}]]}, "X-1: do[0]: not a card: '0C'"),
        ({"do": [], "expect": {"refused": "*"}}, "X-1: nothing is done"),
        ({"expect": {"stock": "ZZ"}}, "X-1: expect: not a card: 'ZZ'"),
        ({"expect": {"wins": 1}}, "$[0].expect"),
    ],
)
def test_a_malformed_case_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, object], place: str
) -> None:
    """A case that cannot be read is told with the place in it, and the exit code is 2."""
    assert main([str(one(tmp_path, **changed))]) == 2
    assert place in capsys.readouterr().err


@pytest.mark.parametrize("rules", [{"deals": 0}, {"idle_limit": 0}, {"hand_size": 40}, {"seats": [3, 4]}])
def test_a_case_is_a_moment_of_a_deal(tmp_path: Path, rules: dict[str, object]) -> None:
    """That a match by its rules had no end, too few cards, or other seats does not keep a case from running."""
    assert main([str(one(tmp_path, rules={"preset": "basic", **rules}))]) == 0


def test_a_path_without_cases_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that is not there, a folder without cases, a file that is no JSON and no path at all are errors."""
    (tmp_path / "broken").write_text("[")
    (tmp_path / "folder").mkdir()
    for arguments in (["nowhere.json"], [str(tmp_path / "folder")], [str(tmp_path / "broken")], []):
        assert main(arguments) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in ("nowhere.json", "folder: no *.json", "broken", "no path is given"))


def test_an_id_stands_once_in_a_file(tmp_path: Path) -> None:
    """Two cases of one id in a file are an error."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps([ONE, ONE]))
    with pytest.raises(CaseError, match="X-1 is used more than once"):
        read_case_file(path)


def test_owners_are_kept_card_by_card(tmp_path: Path) -> None:
    """Owners are given in the order in which the cards are named, whatever the order of the run."""
    lying = {"cards": "4C 2C 3C", "owners": [0, 1, 0]}
    path = one(tmp_path, position={"hands": ["9C 2C", "9D"], "phase": "play", "table": [lying]})
    (meld,) = position_of(read_case_file(path)[0]).melds
    assert (meld.cards, meld.owners, meld.founder) == (b"\x01\x02\x03", b"\x01\x00\x00", 0)
