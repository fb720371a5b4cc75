import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.actions import LayDown
from engine.errors import BadRules
from engine.faults import as_sent, complete, faults, wrong_values
from engine.presets import PRESETS
from engine.rules import RuleSet, hand_size_for, packs_for
from engine.step import step
from tests.strategies import moments, rules_of, seeds, tables


def fields(rules: RuleSet, seats: int | None = None) -> set[tuple[str, str]]:
    return {(fault.field, fault.reason) for fault in faults(rules, seats)}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.clause("P25")
def test_every_preset_can_be_played_by_every_number_that_it_names(preset: str) -> None:
    """Each named game is without fault, for each number of players that it admits."""
    rules = PRESETS[preset]
    assert faults(rules) == []
    assert [seats for seats in range(1, 10) if not faults(rules, seats)] == list(
        range(rules.seats[0], rules.seats[1] + 1)
    )


@pytest.mark.parametrize(
    ("options", "field", "reason"),
    [
        ({"seats": [1, 4]}, "seats", "OUT_OF_RANGE"),
        ({"seats": [4, 3]}, "seats", "OUT_OF_RANGE"),
        ({"seats": [2, 9]}, "seats", "OUT_OF_RANGE"),
        ({"jokers": 9}, "jokers", "OUT_OF_RANGE"),
        ({"packs": 0}, "packs", "OUT_OF_RANGE"),
        ({"hand_size": 0}, "hand_size", "OUT_OF_RANGE"),
        ({"hand_size": 8, "packs": 1}, "hand_size", "TOO_MANY_CARDS"),
        ({"hand_size": 25, "seats": [2, 2], "opening_draw": 3}, "hand_size", "TOO_MANY_CARDS"),
        ({"deals": 0}, "target", "NO_END"),
        ({"idle_limit": 0}, "idle_limit", "NO_END"),
        ({"scoring": "pool"}, "stake", "MISSING"),
        ({"scoring": "pool", "stake": 30}, "carry_over", "MISSING"),
        ({"scoring": "pool", "stake": 30, "carry_over": True}, "one_winner", "MISSING"),
        ({"discard_draw": "none", "use_taken": True}, "use_taken", "CONFLICT"),
        ({"go_out": "discard", "discard": "optional"}, "go_out", "CONFLICT"),
        ({"set_max": 2}, "set_max", "CONFLICT"),
        ({"set_min": 5, "distinct_suits": True}, "set_min", "CONFLICT"),
        ({"settlement": "pay_winner", "scoring": "melds"}, "settlement", "CONFLICT"),
        ({"settlement": "pay_winner", "finish_round": True}, "settlement", "CONFLICT"),
        ({"turn_over_limit": -1}, "turn_over_limit", "OUT_OF_RANGE"),
        ({"run_min": 14}, "run_min", "OUT_OF_RANGE"),
    ],
)
def test_a_rule_set_that_cannot_be_played_is_refused(options: dict[str, object], field: str, reason: str) -> None:
    """Each way in which a rule set cannot be played is named by its field and a reason."""
    assert (field, reason) in fields(rules_of("basic", **options))


def test_a_pool_is_not_multiplied() -> None:
    """A factor for going out at once makes no sense with a pool."""
    assert fields(rules_of("pool500", out_at_once=2)) == {("out_at_once", "CONFLICT")}


@pytest.mark.clause("G8")
@pytest.mark.parametrize("discard_draw", ["top", "any"])
@pytest.mark.parametrize("top_free", [True, False])
def test_a_match_and_its_deals_must_have_an_end(discard_draw: str, top_free: bool) -> None:
    """Without target and deals no match would end, and without a limit no deal in which taking costs nothing."""
    assert fields(rules_of("rummy500", target=0)) == {("target", "NO_END")}
    free = rules_of("rummy500", discard_draw=discard_draw, top_free=top_free, idle_limit=0)
    assert fields(free) == ({("idle_limit", "NO_END")} if top_free else set())
    assert fields(rules_of(discard_draw=discard_draw, idle_limit=0)) == {("idle_limit", "NO_END")}
    assert fields(rules_of(discard_draw=discard_draw, idle_limit=0, round_limit=9)) == set()


@pytest.mark.clause("G8")
@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({"hand_size": 1}, False),
        ({"hand_size": 2}, True),
        ({"hand_size": 2, "go_out": "discard"}, False),
        ({"hand_size": 3, "go_out": "discard"}, True),
        ({"hand_size": 1, "set_min": 2}, True),
        ({"hand_size": 1, "opening_draw": 1}, True),
        ({"hand_size": 1, "opening_draw": 1, "go_out": "discard"}, False),
        ({"hand_size": 1, "opening_draw": 1, "go_out": "discard", "seats": [3, 3]}, True),
        ({"hand_size": 7, "set_min": 9, "run_min": 9}, False),
        ({"hand_size": 7, "set_min": 9, "run_min": 9, "discard_draw": "any"}, True),
        ({"hand_size": 7, "set_min": 9, "run_min": 9, "discard": "optional"}, True),
        ({"hand_size": 4, "set_min": 5, "run_min": 6, "packs": 1}, False),
        ({"hand_size": 4, "set_min": 5, "run_min": 6, "packs": 2}, True),
        ({"hand_size": 3, "set_min": 5, "run_min": 4, "distinct_suits": True, "jokers": 8}, True),
        ({"hand_size": 5, "set_min": 10, "run_min": 10, "discard": "optional", "round_limit": 4}, False),
        ({"hand_size": 5, "set_min": 10, "run_min": 10, "discard": "optional", "round_limit": 5}, True),
        ({"hand_size": 6, "run_min": 11, "set_min": 5, "discard": "optional", "packs": 1, "seats": [8, 8]}, False),
        ({"hand_size": 6, "run_min": 10, "set_min": 5, "discard": "optional", "packs": 1, "seats": [8, 8]}, True),
        ({"hand_size": 2, "set_min": 9, "run_min": 9, "discard_draw": "any", "round_limit": 2}, False),
        ({"hand_size": 2, "set_min": 9, "run_min": 9, "discard_draw": "any", "round_limit": 4}, True),
    ],
)
def test_a_match_by_points_needs_melds(options: dict[str, object], fits: bool) -> None:
    """Where no meld fits into a hand nobody scores, so that only an agreed number of deals ends the match."""
    by_points = {"target": 50, "deals": 0, "seats": [2, 2], **options}
    assert (("hand_size", "NO_END") in fields(rules_of("basic", **by_points))) is not fits
    assert ("hand_size", "NO_END") not in fields(rules_of("basic", **{**by_points, "deals": 9}))


@pytest.mark.clause("G8")
@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({}, False),
        ({"hand_size": 4}, True),
        ({"hand_size": 3}, True),
        ({"hand_size": 3, "go_out": "discard"}, False),
        ({"hand_size": 4, "go_out": "discard"}, True),
        ({"hand_size": 8}, True),
        ({"hand_size": 9}, False),
        ({"hand_size": 12}, True),
        ({"hand_size": 13}, True),
        ({"hand_size": 14}, False),
        ({"hand_size": 16}, True),
        ({"hand_size": 17}, True),
        ({"set_max": 5, "packs": 2}, True),
        ({"run_min": 5}, True),
        ({"lay_off": "any"}, False),
        ({"lay_off": "own", "run_min": 12}, True),
        ({"lay_off": "any", "set_max": 0, "jokers": 1}, True),
        ({"scoring": "melds"}, True),
        ({"scoring": "pool", "stake": 30, "carry_over": True, "one_winner": False}, False),
        ({"discard": "optional"}, True),
        ({"discard": "optional", "round_limit": 3}, True),
        ({"discard": "optional", "round_limit": 2}, False),
        ({"discard_draw": "any", "use_taken": False}, True),
        ({"opening_draw": 5, "discard_draw": "none"}, False),
        ({"opening_draw": 5, "seats": [3, 3], "discard_draw": "none"}, True),
        ({"opening_draw": 5, "discard_draw": "top"}, True),
    ],
)
def test_a_match_by_points_needs_hands_that_come_out_even(options: dict[str, object], fits: bool) -> None:
    """Where only who is out scores, melds that never use up a hand, nor all but the discard, make a match without end.

    Five cards are dealt, and melds have four or thirteen; nothing is laid off unless a line says so.
    """
    fields_ = {"hand_size": 5, "set_min": 4, "set_max": 4, "run_min": 13, "lay_off": "none"}
    by_points = {"target": 50, "deals": 0, "seats": [2, 2], **fields_, **options}
    found = fields(rules_of("basic", **by_points))
    assert found == (set() if fits else {("hand_size", "NO_END")})
    assert fields(rules_of("basic", **{**by_points, "deals": 9})) == set()


SMALL = st.fixed_dictionaries(
    {
        "seats": st.sampled_from([[2, 2], [3, 3]]),
        "jokers": st.sampled_from([0, 8]),
        "hand_size": st.integers(1, 6),
        "opening_draw": st.sampled_from([0, 0, 1, 3]),
        "set_min": st.integers(2, 7),
        "set_max": st.sampled_from([0, 3, 4, 5]),
        "run_min": st.integers(2, 8),
        "discard": st.sampled_from(["required", "optional"]),
        "discard_draw": st.sampled_from(["none", "top", "any"]),
        "go_out": st.sampled_from(["free", "discard"]),
        "lay_off": st.sampled_from(["none", "none", "own", "any"]),
        "round_limit": st.sampled_from([0, 1, 2, 3]),
        "scoring": st.sampled_from(["hands", "melds"]),
        "joker_swap": st.sampled_from(["never", "to_hand"]),
    }
)


@given(SMALL, seeds)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@pytest.mark.clause("G8")
def test_where_a_match_is_said_to_have_no_end_nobody_gets_a_point(options: dict[str, object], seed: int) -> None:
    """In a deal of a rule set that is refused for its hands, however it is played, nobody goes out, or lays a meld."""
    rules = rules_of("basic", **options)
    assume({fault.reason for fault in faults(replace(rules, target=50, deals=0))} == {"NO_END"})
    assume(not faults(rules))
    seats = rules.seats[0]
    for state, action in moments(rules, seats, seed, most=60):
        assert all(step(state, state.turn, action).state.hands)
        assert not (rules.scoring == "melds" and isinstance(action, LayDown))


def test_every_fault_is_named_at_once() -> None:
    """A rule set with several faults is refused with all of them."""
    bad = rules_of(deals=0, idle_limit=0, go_out="discard", discard="optional", jokers=9, set_max=2)
    assert {field for field, _ in fields(bad)} == {"target", "idle_limit", "go_out", "jokers", "set_max"}


def test_one_fault_hides_no_other() -> None:
    """Too many cards are told beside a fault of any field that has no part in dealing them."""
    bad = rules_of(hand_size=40, court_points=-1, stake=-1)
    assert {field for field, _ in fields(bad)} == {"hand_size", "court_points", "stake"}


def test_a_fault_is_told_of_a_field_that_was_sent() -> None:
    """Where fields conflict the first of those that were sent is at fault, and where none was the first of all."""
    found = faults(rules_of(deals=0, packs=1, hand_size=8, set_max=2))
    assert [fault.field for fault in found] == ["hand_size", "set_max", "target"]
    assert [fault.field for fault in as_sent(found, {"deals", "packs"})] == ["packs", "set_max", "deals"]
    assert [fault.text for fault in as_sent(found, {"deals", "packs"})] == [fault.text for fault in found]
    assert as_sent(found, RuleSet.__struct_fields__) == found


def test_a_fault_names_fields_that_there_are() -> None:
    """Whatever a fault could be told of is a field of a rule set."""
    worst = rules_of(
        deals=0, packs=1, hand_size=8, set_max=4, set_min=5, distinct_suits=True, idle_limit=0, go_out="discard",
        discard="optional", settlement="pay_winner", scoring="pool", out_at_once=2, top_free=True, use_taken=True,
    )  # fmt: skip
    found = [*faults(worst), *faults(rules_of(discard_draw="none", use_taken=True))]
    found += faults(rules_of(deals=0, target=9, hand_size=1))
    assert len({fault.field for fault in found}) >= 9
    for fault in found:
        assert {fault.field, *fault.others} <= set(RuleSet.__struct_fields__)
        assert fault.field not in fault.others


def test_single_fields_are_judged_without_the_others() -> None:
    """Of a rule set that is not whole, each field is judged by itself; so it is beside a preset that is none."""
    given_ = {"jokers": 9, "seats": [1, 2], "ace": "middle", "deals": 0, "x": 1, "packs": None}
    named = {("jokers", "OUT_OF_RANGE"), ("seats", "OUT_OF_RANGE"), ("ace", "WRONG_TYPE"), ("x", "UNKNOWN")}
    assert {(fault.field, fault.reason) for fault in wrong_values(given_)} == named
    with pytest.raises(BadRules) as bad:
        complete("chess", given_)
    assert {(fault.field, fault.reason) for fault in bad.value.faults} == {("preset", "UNKNOWN"), *named}


def test_a_hand_size_counts_for_the_players_that_are_there() -> None:
    """Ten cards of one pack are too many for six, and not for three."""
    rules = rules_of(packs=1, hand_size=10)
    assert fields(rules) == {("hand_size", "TOO_MANY_CARDS")}
    assert fields(rules, 3) == set()
    assert fields(rules, 6) == {("hand_size", "TOO_MANY_CARDS")}


def test_overrides_complete_a_preset() -> None:
    """A field that is left out takes the preset's value, and one that is given its own."""
    rules = complete("rummy500", {"target": 300, "ace": "low", "seats": [2, 4], "hand_size": None})
    assert (rules.target, rules.ace, rules.seats, rules.set_max) == (300, "low", (2, 4), 4)
    assert complete("basic", {}) == PRESETS["basic"]


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        ({"jokerz": 1}, {("jokerz", "UNKNOWN")}),
        ({"ace": "middle"}, {("ace", "WRONG_TYPE")}),
        ({"jokers": "2"}, {("jokers", "WRONG_TYPE")}),
        ({"jokers": True}, {("jokers", "WRONG_TYPE")}),
        ({"seats": [2]}, {("seats", "WRONG_TYPE")}),
        ({"up_card": None, "x": 1, "deals": 0}, {("up_card", "WRONG_TYPE"), ("x", "UNKNOWN"), ("target", "NO_END")}),
    ],
)
def test_overrides_that_are_no_fields_are_named(overrides: dict[str, object], named: set[tuple[str, str]]) -> None:
    """Unknown fields and values of a wrong type are all named, with the faults of the rest."""
    with pytest.raises(BadRules) as bad:
        complete("basic", overrides)
    assert {(fault.field, fault.reason) for fault in bad.value.faults} == named


def test_an_unknown_preset_is_named_with_those_that_there_are() -> None:
    """Whoever asks for a game that is not there is told which there are."""
    with pytest.raises(BadRules, match="pool500-cutthroat"):
        complete("chess", {})


@given(tables())
@settings(max_examples=100, deadline=None)
def test_a_faultless_rule_set_is_completed_from_its_own_fields(table: tuple[RuleSet, int]) -> None:
    """All fields of a rule set, given as overrides, make that rule set out of any preset."""
    rules, _ = table
    overrides = {name: getattr(rules, name) for name in rules.__struct_fields__}
    assert complete("pool500", overrides) == rules


@pytest.mark.clause("B1")
@pytest.mark.clause("F1")
@pytest.mark.clause("P1")
@pytest.mark.parametrize(
    ("preset", "packs"), [("basic", [1, 1, 1, 1, 2, 2]), ("rummy500", [1, 1, 1, 2, 2, 2, 2]), ("pool500", [2, 2, 2])]
)
def test_the_packs_go_by_the_number_of_players(preset: str, packs: list[int]) -> None:
    """From two players up, one pack or two are used as the game has it."""
    assert [packs_for(PRESETS[preset], 2 + index) for index in range(len(packs))] == packs


@pytest.mark.clause("B2")
@pytest.mark.clause("B11")
@pytest.mark.clause("F8")
@pytest.mark.clause("P6")
@pytest.mark.parametrize(
    ("preset", "options", "sizes"),
    [
        ("basic", {}, [10, 7, 7, 7, 10, 10]),
        ("basic", {"packs": 2}, [10, 7, 10, 10, 10, 10]),
        ("rummy500", {}, [13, 7, 7, 7, 7, 7, 7]),
        ("pool500", {}, [13, 13, 13]),
        ("basic", {"hand_size": 10, "packs": 2}, [10, 10, 10, 10, 10, 10]),
    ],
)
def test_the_hand_size_goes_by_players_and_packs(preset: str, options: dict[str, object], sizes: list[int]) -> None:
    """From two players up, each is dealt as many cards as the game has it for that number and those packs."""
    rules = rules_of(preset, **options)
    assert [hand_size_for(rules, 2 + index) for index in range(len(sizes))] == sizes
