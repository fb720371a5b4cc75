"""Rule sets, both ways.

Field by field through the descriptor: a field has the same name in the protos, the engine and the rules' JSON.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from rummy.v1 import rule_set_pb2 as pb

from engine.errors import BadRules, Fault
from engine.faults import SEATS, as_sent, complete, wrong_values
from engine.presets import PRESETS
from engine.rules import RuleSet
from service.games.fit import settled

__all__ = ["DEFAULT", "faults_of", "rule_set_to", "rules_from"]

DEFAULT: Final = "basic"
"""The preset that is meant where a request has no rule set at all."""

_DISPLAY_NAMES: Final = {
    "basic": "Basic Rummy",
    "rummy500": "Rummy 500",
    "pool500": "Pool Rummy 500",
    "pool300": "Pool Rummy 300",
    "pool500-cutthroat": "Pool Rummy 500, cutthroat",
}

Override = bool | int | str | list[int]
"""The value of one field, as in the rules' JSON."""

_FIELDS: Final[Mapping[str, FieldDescriptor]] = {
    name: field for name, field in pb.RuleSet.DESCRIPTOR.fields_by_name.items() if name in RuleSet.__struct_fields__
}
_OF_A_POOL: Final = frozenset({"stake", "carry_over", "one_winner"})
"""What a rule set without a preset may leave out where there is no pool; `engine.faults` asks for them where one is."""


def rules_from(message: pb.RuleSet) -> RuleSet:
    """The rule set that the message names: a preset with the fields that differ, or all fields.

    What a preset leaves to the number of players (packs, hand size) follows that preset's custom, so without a preset
    these have to be given, too. Raises BadRules where the preset is unknown, or there is none and fields are missing,
    or an enum has no such value; with what else is wrong, as far as that can be told. Without that, the rule set may be
    unplayable in other ways.
    """
    overrides = _overrides_from(message)
    if message.preset:
        return complete(message.preset, overrides)
    missing = [name for name in _FIELDS if name not in overrides and name not in _OF_A_POOL]
    if missing:
        text = "is missing: name a preset, or give all fields"
        raise BadRules([Fault(name, "MISSING", text) for name in missing] + wrong_values(overrides))
    return complete("basic", overrides)


def faults_of(message: pb.RuleSet, found: Iterable[Fault], seat_count: int | None) -> list[Fault]:
    """What was found in the message's rule set, each fault at a field that the message gives, where one of those is.

    With them comes a number of seats that no game has, which rules that cannot be read leave unjudged.
    """
    told = as_sent(found, _overrides_from(message))
    least, most = SEATS
    if seat_count is None or least <= seat_count <= most or any(fault.field == "seat_count" for fault in told):
        return told
    return [*told, Fault("seat_count", "OUT_OF_RANGE", f"{seat_count} is not within {least}-{most}")]


def rule_set_to(rules: RuleSet, preset: str, *, players: int | None = None) -> pb.RuleSet:
    """The rule set, whole, and what of it is not as in the preset, where so many play.

    A field that is decided by the number of players is left out while that is not known.
    """
    message = pb.RuleSet(preset=preset, display_name=_DISPLAY_NAMES.get(preset, ""))
    message.house_rules.extend(_house_rules(rules, preset, players))
    for name, field in _FIELDS.items():
        value = getattr(rules, name)
        if name == "seats":
            message.seats.least, message.seats.most = rules.seats
        elif value is None:
            continue
        elif field.enum_type:
            setattr(message, name, field.enum_type.values_by_name[_prefix(field.enum_type) + value.upper()].number)
        else:
            setattr(message, name, value)
    return message


def _house_rules(rules: RuleSet, preset: str, players: int | None) -> Iterable[str]:
    """The fields that differ from the preset, if there is such a one: a later release may not have it any more."""
    base = PRESETS.get(preset, rules)
    if players is not None:
        base = settled(base, players)
    return [name for name in _FIELDS if getattr(rules, name) not in {None, getattr(base, name)}]


def _overrides_from(message: pb.RuleSet) -> dict[str, Override]:
    """The fields that the message gives."""
    plain: Message = message  # its own type knows its fields' names too well for a loop over them
    found: dict[str, Override] = {}
    for name, field in _FIELDS.items():
        if name == "seats":
            if message.HasField("seats"):
                found[name] = [message.seats.least, message.seats.most]
        elif field.enum_type:
            number = getattr(message, name)
            if number:
                value = field.enum_type.values_by_number.get(number)
                found[name] = value.name.removeprefix(_prefix(field.enum_type)).lower() if value else str(number)
        elif plain.HasField(name):
            found[name] = getattr(message, name)
    return found


def _prefix(enum: EnumDescriptor) -> str:
    """What the values of an enum begin with: `GO_OUT_` of `GO_OUT_FREE`."""
    return enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
