import protovalidate
import pytest
from buf.validate import validate_pb2
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from msgspec.structs import fields
from rummy.v1 import rule_set_pb2 as pb

from engine.errors import BadRules
from engine.faults import _RANGES, SEATS, faults
from engine.presets import PRESETS
from engine.rules import RuleSet
from service.api.convert.rules import rule_set_to, rules_from
from service.games.fit import settled
from tests.strategies import rules_of, tables

TYPES = {field.name: field.type for field in fields(RuleSet)}
OF_A_POOL = {"stake", "carry_over", "one_winner"}


def test_the_api_has_every_field_of_a_rule_set() -> None:
    """A rule set of the API is its names and the engine's fields under their own, but for the custom of its preset."""
    told = {field.name for field in pb.RuleSet.DESCRIPTOR.fields} - {"name", "display_name", "preset", "house_rules"}
    assert told == set(TYPES) - {"by_players"}


@pytest.mark.parametrize("name", [field.name for field in pb.RuleSet.DESCRIPTOR.fields if field.enum_type])
def test_the_api_has_every_value_of_a_field(name: str) -> None:
    """Each value that the engine knows of a field is one that the API knows, and the other way round."""
    enum = pb.RuleSet.DESCRIPTOR.fields_by_name[name].enum_type
    assert enum is not None
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    assert enum.values[0].number == 0
    told = {value.name.removeprefix(prefix).lower() for value in enum.values[1:]}
    assert told == {member.value for member in TYPES[name]}


def test_the_api_tells_the_ranges_that_the_engine_judges_by() -> None:
    """The protos give each number of a rule set the least and the most that the engine lets pass."""
    told = {
        field.name: field.GetOptions().Extensions[validate_pb2.field].int32
        for field in pb.RuleSet.DESCRIPTOR.fields
        if field.type == FieldDescriptor.TYPE_INT32
    }
    assert {name: (rules.gte, rules.lte) for name, rules in told.items()} == _RANGES
    for field in pb.RuleSet.Seats.DESCRIPTOR.fields:
        rules = field.GetOptions().Extensions[validate_pb2.field].int32
        assert (rules.gte, rules.lte) == SEATS


@given(tables())
def test_a_rule_set_comes_back_as_it_went(table: tuple[RuleSet, int]) -> None:
    """Every playable rule set is written as a message that the protos accept and read back as the same one."""
    rules, _ = table
    for preset, base in PRESETS.items():
        if base.by_players is rules.by_players and not missing_from(rules, base):
            message = rule_set_to(rules, preset)
            protovalidate.validate(message)
            assert rules_from(pb.RuleSet.FromString(message.SerializeToString())) == rules


def missing_from(rules: RuleSet, base: RuleSet) -> bool:
    """Whether the rule set leaves out what the preset says: to leave it out of a message means what the preset says."""
    return any(getattr(rules, name) is None and getattr(base, name) is not None for name in TYPES)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_alone_is_that_preset(preset: str) -> None:
    """Who names a preset and nothing else plays just that, and its answer says so and may be sent back."""
    rules = rules_from(pb.RuleSet(preset=preset))
    assert rules == PRESETS[preset]
    for players in (None, 2, 4):
        message = rule_set_to(rules if players is None else settled(rules, players), preset, players=players)
        assert (message.preset, bool(message.display_name), list(message.house_rules)) == (preset, True, [])
    assert rules_from(rule_set_to(rules, preset)) == rules


def test_house_rules_are_what_differs_from_the_preset() -> None:
    """A rule set names the fields that are not the preset's, nor what that has for the number of players."""
    rules = rules_of("rummy500", jokers=2, ace="low", seats=[2, 4], packs=1, deals=0)
    named = rule_set_to(settled(rules, 3), "rummy500", players=3)
    assert (named.display_name, list(named.house_rules)) == ("Rummy 500", ["seats", "jokers", "ace"])
    more = rule_set_to(settled(rules, 2), "rummy500", players=2)
    assert list(more.house_rules) == ["seats", "jokers", "ace"]
    assert list(rule_set_to(rules_of("rummy500", hand_size=9), "rummy500", players=3).house_rules) == ["hand_size"]
    for unknown in ("", "of another release"):
        message = rule_set_to(rules, unknown, players=3)
        assert (message.display_name, list(message.house_rules)) == ("", [])


def test_what_differs_from_a_preset_overrides_it() -> None:
    """A field that is given is taken, zero and false too; one that is left out is the preset's."""
    message = pb.RuleSet(preset="pool500", jokers=0, finish_round=False, ace=pb.RuleSet.ACE_EITHER, target=0, deals=3)
    message.seats.least, message.seats.most = 3, 3
    expected = rules_of("pool500", jokers=0, finish_round=False, ace="either", target=0, deals=3, seats=[3, 3])
    assert rules_from(message) == expected


def test_an_unknown_preset_is_told_the_known_ones() -> None:
    """A preset that is none is refused by the field's name, with those that there are."""
    with pytest.raises(BadRules) as refusal:
        rules_from(pb.RuleSet(preset="gin"))
    (fault,) = refusal.value.faults
    assert (fault.field, fault.reason) == ("preset", "UNKNOWN")
    assert all(preset in fault.text for preset in PRESETS)


def whole(preset: str, packs: int | None = 1, hand_size: int | None = 7) -> pb.RuleSet:
    """A preset's rule set with every field said and no preset named."""
    message = rule_set_to(PRESETS[preset], "")
    if packs:
        message.packs = packs
    if hand_size:
        message.hand_size = hand_size
    return message


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rule_set_may_say_everything_itself(preset: str) -> None:
    """Without a preset all fields are given, and it is the same game as with one, whoever's custom that followed."""
    rules = rules_from(whole(preset, packs=2, hand_size=13))
    expected = rules_of(preset, packs=2, hand_size=13)
    assert [getattr(rules, name) for name in TYPES if name != "by_players"] == [
        getattr(expected, name) for name in TYPES if name != "by_players"
    ]
    assert faults(rules, 2) == []


def test_without_a_preset_every_field_is_asked_for() -> None:
    """Where no preset is named each field that is missing is a fault, packs and hand size too: no custom gives them."""
    with pytest.raises(BadRules) as refusal:
        rules_from(pb.RuleSet(jokers=2))
    missing = {fault.field for fault in refusal.value.faults}
    assert missing == set(TYPES) - {"by_players", "jokers"} - OF_A_POOL
    assert {fault.reason for fault in refusal.value.faults} == {"MISSING"}
    with pytest.raises(BadRules) as refusal:
        rules_from(whole("rummy500", packs=None, hand_size=None))
    assert {fault.field for fault in refusal.value.faults} == {"packs", "hand_size"}


def test_the_fields_of_a_pool_are_asked_for_where_there_is_one() -> None:
    """Only where the winner takes a pool the rule set has to say what goes into it and how it is won."""
    message = whole("pool500", packs=2, hand_size=13)
    for name in OF_A_POOL:
        message.ClearField(name)  # type: ignore[arg-type]
    assert {fault.field for fault in faults(rules_from(message), 3)} == OF_A_POOL
    assert faults(rules_from(whole("basic")), 3) == []


def test_what_the_players_number_decides_is_left_out_until_it_is_known() -> None:
    """Packs and hand size that go by the number of players have no value of their own."""
    message = rule_set_to(PRESETS["basic"], "basic")
    assert not message.HasField("packs")
    assert not message.HasField("hand_size")
    assert not message.HasField("stake")
    assert message.HasField("idle_limit")
