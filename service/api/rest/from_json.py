"""From JSON to a message, naming by its path everything that does not fit.

    merge(request, parse(body), faults)
    faults.refuse()

The mapping is proto3's own: names in camel or snake case, integers as numbers or strings, enums by name or number, null
for a field that is left out. protobuf's parser accepts the same, but it stops at the first fault and seldom says where
that is. Unlike that parser this one refuses the number of an enum that has no name.
"""

import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from service.api.errors import Violation, invalid
from service.api.rest.field_names import BODY
from service.api.rest.json_text import Json, JsonObject, kind
from service.api.rest.scalars import Unfit, from_text, scalar

__all__ = [
    "OWN_FORMS",
    "Faults",
    "descriptor_of",
    "field_named",
    "has_own_form",
    "is_excluded",
    "is_map",
    "merge",
    "set_value",
]


class Faults:
    """What is wrong with a request, up to `MOST`: what comes after so many tells nobody more."""

    MOST: Final = 20

    def __init__(self, misplaced: Mapping[str, str] = MappingProxyType({})) -> None:
        """`misplaced` says of fields that the body has not, by their names, where they belong."""
        self._found: list[Violation] = []
        self._misplaced = misplaced

    def add(self, field: str, text: str, reason: str) -> None:
        """Notes a fault of a field, by its path in the body, such as `ruleSet.jokers`; the body's own is empty."""
        if not self.full:
            self._found.append(Violation(field[:200] or BODY, text, reason))

    def add_unknown(self, field: str) -> None:
        """Notes that the body has no such field."""
        self.add(field, self._misplaced.get(field, "no such field"), "UNKNOWN_FIELD")

    @property
    def full(self) -> bool:
        """Whether to look no further."""
        return len(self._found) >= self.MOST

    def refuse(self) -> None:
        """Raises ApiError INVALID_FIELD that names every fault, where there is one."""
        if self._found:
            raise invalid(self._found)


OWN_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "google.protobuf.Duration": "a string, a number of seconds with an s, as in 20s or 0.5s",
        "google.protobuf.Timestamp": "a string, a time as RFC 3339 writes it, as in 2026-01-31T18:30:00Z",
    }
)
"""How JSON writes the messages that have a form of their own, in words."""


def merge(message: Message, value: Json, faults: Faults, path: str = "") -> None:
    """Sets the fields of a message from an object of JSON. `path` is the message's own, empty for the whole body."""
    if not isinstance(value, JsonObject):
        faults.add(path, f"must be an object, not {kind(value)}", "NOT_AN_OBJECT")
        return
    seen: set[str] = set()
    for name, member in value.members:
        if faults.full:
            return
        field = field_named(descriptor_of(message), name)
        where = ".".join(filter(None, (path, field.json_name if field else name or '""')))
        if field is None:
            faults.add_unknown(where)
        elif field.name in seen:
            faults.add(where, "given twice", "REPEATED_FIELD")
        else:
            seen.add(field.name)
            set_value(message, field, member, faults, where)


def set_value(message: Message, field: FieldDescriptor, value: Json, faults: Faults, path: str) -> None:
    """Sets one field of a message from JSON; null leaves it as it is."""
    if value is None and not _holds_null(field):
        return
    if is_excluded(message, field, faults, path):
        return
    try:
        if is_map(field):
            _set_map(message, field, value, faults, path)
        elif field.is_repeated:
            _set_list(message, field, value, faults, path)
        elif field.message_type:
            child = getattr(message, field.name)
            child.SetInParent()
            _set_message(child, value, faults, path)
        else:
            setattr(message, field.name, scalar(field, value))
    except Unfit as unfit:
        faults.add(path, str(unfit), unfit.reason)


def descriptor_of(message: Message) -> Descriptor:
    """The description of a message's type."""
    return cast(Descriptor, message.DESCRIPTOR)  # protobuf's stubs name two classes that are one


def is_excluded(message: Message, field: FieldDescriptor, faults: Faults, path: str) -> bool:
    """Whether another field of the same oneof is set already, which is a fault."""
    group = field.containing_oneof
    rival = message.WhichOneof(group.name) if group else None
    if rival is None or rival == field.name:
        return False
    other = descriptor_of(message).fields_by_name[rival]
    faults.add(path, f"{field.json_name} and {other.json_name} exclude each other", "ONEOF_CONFLICT")
    return True


def field_named(descriptor: Descriptor, name: str) -> FieldDescriptor | None:
    """The field with this name, in camel or snake case."""
    return _fields(descriptor).get(name)


def has_own_form(descriptor: Descriptor) -> bool:
    """Whether a message is one of protobuf's own, such as Timestamp, which JSON writes in a form of their own."""
    return descriptor.full_name.startswith("google.protobuf.")


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map, which JSON writes as an object."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


@cache
def _fields(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    return MappingProxyType({name: field for field in descriptor.fields for name in (field.json_name, field.name)})


def _holds_null(field: FieldDescriptor) -> bool:
    form = field.message_type
    return not field.is_repeated and form is not None and form.full_name == "google.protobuf.Value"


def _set_list(message: Message, field: FieldDescriptor, value: Json, faults: Faults, path: str) -> None:
    if not isinstance(value, list):
        raise Unfit(f"must be an array, not {kind(value)}", "NOT_AN_ARRAY")
    target = getattr(message, field.name)
    for index, item in enumerate(value):
        if faults.full:
            return
        where = f"{path}[{index}]"
        try:
            if field.message_type:
                _set_message(target.add(), item, faults, where)
            else:
                target.append(scalar(field, item))
        except Unfit as unfit:
            faults.add(where, str(unfit), unfit.reason)


def _set_map(message: Message, field: FieldDescriptor, value: Json, faults: Faults, path: str) -> None:
    if not isinstance(value, JsonObject):
        raise Unfit(f"must be an object, not {kind(value)}", "NOT_AN_OBJECT")
    target = getattr(message, field.name)
    entry = field.message_type.fields_by_name  # type: ignore[union-attr]  # a map is a list of messages
    for name, item in value.members:
        where = f"{path}[{json.dumps(name)}]"
        try:
            key = scalar(entry["key"], from_text(entry["key"], name))
            if key in target:
                faults.add(where, "given twice", "REPEATED_FIELD")
            elif entry["value"].message_type:
                _set_message(target[key], item, faults, where)
            else:
                target[key] = scalar(entry["value"], item)
        except Unfit as unfit:
            faults.add(where, str(unfit), unfit.reason)


def _set_message(message: Message, value: Json, faults: Faults, path: str) -> None:
    if not has_own_form(descriptor_of(message)):
        merge(message, value, faults, path)
        return
    try:
        json_format.Parse(_as_text(value), message)
    except (json_format.ParseError, RecursionError):
        name = message.DESCRIPTOR.full_name
        raise Unfit(f"must be {OWN_FORMS.get(name, f'the JSON form of {name}')}", "BAD_VALUE") from None


def _as_text(value: Json) -> str:
    """JSON as it was read: duplicates and all, which protobuf's parser refuses."""
    if isinstance(value, JsonObject):
        return f"{{{','.join(f'{json.dumps(name)}:{_as_text(member)}' for name, member in value.members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_as_text, value))}]"
    return json.dumps(value)
