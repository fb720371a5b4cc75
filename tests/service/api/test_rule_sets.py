"""The methods of RuleSetService: the presets, and the check of house rules."""

import pytest
from google.protobuf.message import Message
from rummy.v1 import rule_set_service_pb2 as pb
from rummy.v1.rule_set_pb2 import RuleSet

from engine.presets import PRESETS
from service.api.calls import Caller, Calls
from service.api.convert.rules import rules_from
from service.api.errors import ApiError
from service.api.rule_sets import HANDLERS, SERVICE

CALLS = Calls({SERVICE: HANDLERS})


async def ask(request: Message) -> Message:
    method = SERVICE.methods_by_name[type(request).__name__.removesuffix("Request")]
    return await CALLS.unary(method, request, Caller(None, "the-call", "test"))


async def listed(**fields: object) -> pb.ListRuleSetsResponse:
    answer = await ask(pb.ListRuleSetsRequest(**fields))  # type: ignore[arg-type]
    assert isinstance(answer, pb.ListRuleSetsResponse)
    return answer


async def checked(rule_set: RuleSet, seat_count: int | None = None) -> pb.CheckRuleSetResponse:
    answer = await ask(pb.CheckRuleSetRequest(rule_set=rule_set, seat_count=seat_count))
    assert isinstance(answer, pb.CheckRuleSetResponse)
    return answer


def faults(answer: pb.CheckRuleSetResponse) -> dict[str, str]:
    assert all(fault.description for fault in answer.faults)
    return {fault.field: fault.reason for fault in answer.faults}


async def test_every_preset_is_listed_whole() -> None:
    """The list has all presets in their order, each with its names and all that a table can be made of."""
    answer = await listed()
    assert [rule_set.name for rule_set in answer.rule_sets] == [f"ruleSets/{preset}" for preset in PRESETS]
    assert len({rule_set.display_name for rule_set in answer.rule_sets}) == len(PRESETS)
    for rule_set in answer.rule_sets:
        assert rules_from(rule_set) == PRESETS[rule_set.preset]
    assert answer.next_page_token == ""


@pytest.mark.parametrize("size", [1, 2, len(PRESETS), 1000])
async def test_the_list_comes_in_pages(size: int) -> None:
    """Pages of any size, one after the other, are the whole list."""
    found: list[str] = []
    token = ""
    while (not found or token) and len(found) <= len(PRESETS):
        page = await listed(page_size=size, page_token=token)
        assert 0 < len(page.rule_sets) <= size
        found += [rule_set.preset for rule_set in page.rule_sets]
        token = page.next_page_token
    assert found == list(PRESETS)


async def test_a_page_token_that_was_not_given_is_refused() -> None:
    """A page token that is no preset's is told to be none."""
    with pytest.raises(ApiError) as refusal:
        await listed(page_token="gin")  # noqa: S106  a page token
    assert refusal.value.reason == "INVALID_PAGE_TOKEN"


@pytest.mark.parametrize("preset", PRESETS)
async def test_a_preset_is_got_by_its_name(preset: str) -> None:
    """One preset is answered as it stands in the list."""
    answer = await ask(pb.GetRuleSetRequest(name=f"ruleSets/{preset}"))
    assert answer in (await listed()).rule_sets
    assert isinstance(answer, RuleSet)
    assert answer.preset == preset


async def test_an_unknown_preset_is_not_found() -> None:
    """A preset that is none is not found, and the known ones are named."""
    with pytest.raises(ApiError) as refusal:
        await ask(pb.GetRuleSetRequest(name="ruleSets/gin"))
    assert (refusal.value.reason, refusal.value.metadata) == ("RULE_SET_NOT_FOUND", {"rule_set": "ruleSets/gin"})
    assert "rummy500" in refusal.value.text


@pytest.mark.parametrize("preset", PRESETS)
async def test_every_preset_can_be_played(preset: str) -> None:
    """No preset has a fault, for any number of seats that it admits."""
    least, most = PRESETS[preset].seats
    assert faults(await checked(RuleSet(preset=preset))) == {}
    for seats in range(least, most + 1):
        assert faults(await checked(RuleSet(preset=preset), seats)) == {}


async def test_every_fault_is_an_answer() -> None:
    """Faults are told all at once and are no error; the rule set is answered whole all the same."""
    answer = await checked(RuleSet(preset="basic", deals=0, set_max=2, go_out=RuleSet.GO_OUT_DISCARD, stake=5))
    assert faults(answer) == {"deals": "NO_END", "set_max": "CONFLICT"}
    assert (answer.rule_set.set_max, answer.rule_set.run_min) == (2, 3)


async def test_a_value_out_of_its_range_is_a_fault_like_any_other() -> None:
    """Ranges and conflicts are told together, and what is out of range is not repeated as a rule set."""
    answer = await checked(RuleSet(preset="basic", deals=0, jokers=99, set_min=0), 9)
    assert faults(answer) == {
        "deals": "NO_END",
        "jokers": "OUT_OF_RANGE",
        "set_min": "OUT_OF_RANGE",
        "seat_count": "OUT_OF_RANGE",
    }
    assert not answer.HasField("rule_set")


async def test_an_enum_without_such_a_value_is_a_fault() -> None:
    """A number that names no value of an enum is told with the faults of the other fields."""
    answer = await checked(RuleSet(preset="basic", ace=RuleSet.Ace.ValueType(9), jokers=99), 9)
    assert faults(answer) == {"ace": "WRONG_TYPE", "jokers": "OUT_OF_RANGE", "seat_count": "OUT_OF_RANGE"}
    assert not answer.HasField("rule_set")


async def test_a_fault_is_told_of_a_field_that_was_sent() -> None:
    """Where several fields conflict the fault is at one that the caller gave, and at the first where he gave none."""
    assert faults(await checked(RuleSet(preset="rummy500", target=0))) == {"target": "NO_END"}
    assert faults(await checked(RuleSet(preset="rummy500", packs=1), 8)) == {"packs": "TOO_MANY_CARDS"}
    draw_none = RuleSet.DISCARD_DRAW_NONE
    assert faults(await checked(RuleSet(preset="rummy500", discard_draw=draw_none))) == {"discard_draw": "CONFLICT"}


async def test_no_rule_set_at_all_is_basic() -> None:
    """A check that names no rule set is one of the table that `CreateGame` would make of it."""
    answer = await ask(pb.CheckRuleSetRequest(seat_count=8))
    assert isinstance(answer, pb.CheckRuleSetResponse)
    assert faults(answer) == {"seat_count": "OUT_OF_RANGE"}
    whole = await ask(pb.CheckRuleSetRequest())
    assert isinstance(whole, pb.CheckRuleSetResponse)
    assert rules_from(whole.rule_set) == PRESETS["basic"]


async def test_a_rule_set_is_checked_for_a_table() -> None:
    """With a number of seats the check says what creating a table of so many would say."""
    assert faults(await checked(RuleSet(preset="pool500"), 5)) == {"seat_count": "OUT_OF_RANGE"}
    assert faults(await checked(RuleSet(preset="basic", hand_size=12), 6)) == {"hand_size": "TOO_MANY_CARDS"}
    assert faults(await checked(RuleSet(preset="basic", hand_size=12), 4)) == {}


async def test_the_number_of_seats_settles_what_is_left_to_it() -> None:
    """Packs and hand size are in the answer where the number of seats says what they are, and only there."""
    known, unknown = await checked(RuleSet(preset="rummy500"), 2), await checked(RuleSet(preset="rummy500"))
    assert (known.rule_set.packs, known.rule_set.hand_size) == (1, 13)
    assert not unknown.rule_set.HasField("packs")


async def test_a_rule_set_that_lacks_fields_is_told_them() -> None:
    """Without a preset each missing field is a fault, and there is no whole rule set to answer with."""
    answer = await checked(RuleSet(jokers=2))
    assert set(faults(answer).values()) == {"MISSING"}
    assert not answer.HasField("rule_set")
    assert faults(await checked(RuleSet(jokers=9)))["jokers"] == "OUT_OF_RANGE"


async def test_an_unknown_preset_is_a_fault() -> None:
    """A preset that is none is a fault of the rule set, not of the call."""
    assert faults(await checked(RuleSet(preset="gin"))) == {"preset": "UNKNOWN"}
    assert faults(await checked(RuleSet(preset="Basic!", jokers=9))) == {"preset": "UNKNOWN", "jokers": "OUT_OF_RANGE"}
    (fault,) = (await checked(RuleSet(preset="x" * 9999))).faults
    assert len(fault.description) < 200
