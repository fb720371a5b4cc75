"""From a message to JSON: proto3's own mapping, names in camel case, and no field without presence left out.

It gives what `google.protobuf.json_format` gives, in a third of the time or less: what to do with each field of a type
is found out once, not for each message. Every answer and every event to every watcher comes this way.
"""

import base64
import math
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from struct import Struct
from typing import Any, Final, TypeAlias, cast

import msgspec
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from service.api.rest.from_json import descriptor_of, has_own_form, is_map

__all__ = ["to_json"]


def to_json(message: Message) -> bytes:
    """The message as one line of JSON in UTF-8, whatever a reader takes for the end of a line."""
    data = msgspec.json.encode(_writer(descriptor_of(message))(message))
    for raw, escaped in _LINE_ENDS:
        data = data.replace(raw, escaped)
    return data


_Write: TypeAlias = Callable[[Any], object]
"""From a value of a field, or from a message, to what JSON has for it."""

_Put: TypeAlias = Callable[[Message, dict[str, object]], None]
"""From a message into its object: one field, or one oneof."""


@cache
def _writer(descriptor: Descriptor) -> _Write:
    """What writes messages of a type."""
    if descriptor.full_name == Timestamp.DESCRIPTOR.full_name:
        return Timestamp.ToJsonString
    if has_own_form(descriptor):
        return json_format.MessageToDict
    puts: list[_Put] = []

    def write(message: Message) -> object:
        if not puts:
            puts.extend(_puts(descriptor))  # not before: a type may hold itself
        found: dict[str, object] = {}
        for put in puts:
            put(message, found)
        return found

    return write


def _puts(descriptor: Descriptor) -> list[_Put]:
    """What writes each field, in the order of declaration; a oneof stands where its first field does."""
    puts = []
    for field in descriptor.fields:
        group = field.containing_oneof
        if group is None or len(group.fields) == 1:
            puts.append(_put_present(field) if field.has_presence else _put_always(field))
        elif group.fields[0].name == field.name:
            puts.append(_put_chosen(group))
    return puts


def _put_always(field: FieldDescriptor) -> _Put:
    name, get, write = field.json_name, attrgetter(field.name), _field_writer(field)

    def put(message: Message, found: dict[str, object]) -> None:
        value = get(message)
        found[name] = write(value) if write else value

    return put


def _put_present(field: FieldDescriptor) -> _Put:
    own, always = field.name, _put_always(field)

    def put(message: Message, found: dict[str, object]) -> None:
        if message.HasField(own):
            always(message, found)

    return put


def _put_chosen(group: OneofDescriptor) -> _Put:
    name, puts = group.name, {field.name: _put_always(field) for field in group.fields}

    def put(message: Message, found: dict[str, object]) -> None:
        chosen = message.WhichOneof(name)
        if chosen is not None:
            puts[chosen](message, found)

    return put


def _field_writer(field: FieldDescriptor) -> _Write | None:
    """What writes the whole value of a field; None where it is what JSON has already."""
    if is_map(field):
        return _map_writer(cast(Descriptor, field.message_type))
    single = _single_writer(field)
    if not field.is_repeated:
        return single
    if single is None:
        return list
    write = single
    return lambda values: [write(value) for value in values]


def _map_writer(entry: Descriptor) -> _Write:
    write = _single_writer(entry.fields_by_name["value"]) or (lambda value: value)
    flags = entry.fields_by_name["key"].cpp_type == FieldDescriptor.CPPTYPE_BOOL
    return lambda pairs: {(str(key).lower() if flags else str(key)): write(pairs[key]) for key in pairs}


def _single_writer(field: FieldDescriptor) -> _Write | None:
    if field.message_type:
        return _writer(field.message_type)
    if field.enum_type:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return lambda value: base64.b64encode(value).decode()
    return _WRITERS.get(field.cpp_type)


def _double(value: float) -> object:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _float(value: float) -> object:
    """The shortest decimal that is read back as the same value of 32 bits."""
    texts = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return _double(next((short for short in texts if _FLOAT.unpack(_FLOAT.pack(short))[0] == value), value))


_LINE_ENDS: Final = tuple((char.encode(), f"\\u{ord(char):04x}".encode()) for char in "\x85\u2028\u2029")
"""Ends of lines to some readers of event streams, though not to JSON; they can stand in strings alone."""
_FLOAT: Final = Struct("f")
_WRITERS: Final[dict[int, _Write]] = {
    FieldDescriptor.CPPTYPE_INT64: str,
    FieldDescriptor.CPPTYPE_UINT64: str,
    FieldDescriptor.CPPTYPE_DOUBLE: _double,
    FieldDescriptor.CPPTYPE_FLOAT: _float,
}
