"""JSON Schemas of messages and enums, made of their descriptors, comments and constraints.

    schemas = Schemas(comments, sent)
    schemas.message(descriptor)       {"$ref": "#/components/schemas/Game"}
    schemas.components                each message and enum that was referred to

A message that a request holds is described as a client may send it, any other as the server sends it: with every field
that it always writes.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from service.api.rest.annotations import is_read_only, is_required, must_choose, rules_of
from service.api.rest.constraints import constraints
from service.api.rest.from_json import has_own_form, is_map
from service.api.rest.openapi_types import Schema, Value
from service.api.rest.scalars import INTEGER_RANGES

__all__ = ["Schemas", "held_by"]


class Schemas:
    """The schemas of one document. `sent` are the full names of all messages that some request holds."""

    def __init__(self, comments: Mapping[str, str], sent: frozenset[str]) -> None:
        self.components: Schema = {}
        self._comments = comments
        self._sent = sent

    def message(self, descriptor: Descriptor, without: frozenset[str] = frozenset()) -> Schema:
        """Refers to a message, less the fields `without`."""
        if has_own_form(descriptor):
            return dict(_OWN_FORMS[descriptor.full_name])
        name = _component(descriptor)
        if name not in self.components:
            self.components[name] = {}  # a message that holds itself refers to what is being made
            self.components[name] = self._object(descriptor, without)
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        """The schema of a field, with its comment and constraints."""
        rules = rules_of(field)
        if is_map(field):
            entry = cast(Descriptor, field.message_type)
            schema: Schema = {"type": "object", "additionalProperties": self.field(entry.fields_by_name["value"])}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._single(field) | constraints(rules.repeated.items)}
        else:
            schema = self._single(field)
        schema |= constraints(rules)
        if comment := self._comments.get(field.full_name):
            schema["description"] = comment
        if is_read_only(field):
            schema["readOnly"] = True
        return schema

    def _object(self, descriptor: Descriptor, without: frozenset[str]) -> Schema:
        fields = [field for field in descriptor.fields if field.name not in without]
        sent = descriptor.full_name in self._sent
        schema: Schema = {"type": "object", "properties": {field.json_name: self.field(field) for field in fields}}
        if comment := self._comments.get(descriptor.full_name):
            schema["description"] = comment
        if required := _names(field for field in fields if (is_required(field) if sent else not field.has_presence)):
            schema["required"] = required
        if sent:
            schema["additionalProperties"] = False
        return schema | _choices(descriptor)

    def _single(self, field: FieldDescriptor) -> Schema:
        if field.message_type:
            return self.message(field.message_type)
        if field.enum_type:
            return self._enum(field.enum_type)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "contentEncoding": "base64"}
        return dict(_SCALARS[field.cpp_type])

    def _enum(self, enum: EnumDescriptor) -> Schema:
        name = _component(enum)
        if name not in self.components:
            told = [self._comments.get(enum.full_name, "")]
            told += [
                f"- `{value.name}`: {self._comments.get(f'{enum.full_name}.{value.name}', '')}" for value in enum.values
            ]
            names: list[Value] = [value.name for value in enum.values]
            self.components[name] = {"type": "string", "enum": names, "description": "\n".join(told)}
        return {"$ref": f"#/components/schemas/{name}"}


def held_by(descriptors: Iterable[Descriptor]) -> frozenset[str]:
    """The full names of these messages and of every message that they hold, at any depth."""
    found: set[str] = set()
    todo = list(descriptors)
    while todo:
        descriptor = todo.pop()
        if descriptor.full_name not in found:
            found.add(descriptor.full_name)
            todo += [field.message_type for field in descriptor.fields if field.message_type]
    return frozenset(found)


_SCALARS: Final[Mapping[int, Schema]] = MappingProxyType(
    {
        FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
        FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
        FieldDescriptor.CPPTYPE_DOUBLE: {"type": "number", "format": "double"},
        FieldDescriptor.CPPTYPE_FLOAT: {"type": "number", "format": "float"},
        FieldDescriptor.CPPTYPE_INT64: {"type": "string", "format": "int64", "pattern": "^-?[0-9]{1,19}$"},
        FieldDescriptor.CPPTYPE_UINT64: {"type": "string", "format": "uint64", "pattern": "^[0-9]{1,20}$"},
        **{
            kind: {"type": "integer", "minimum": INTEGER_RANGES[kind][0], "maximum": INTEGER_RANGES[kind][1]}
            for kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
        },
    }
)

_OWN_FORMS: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
        "google.protobuf.Empty": {"type": "object", "maxProperties": 0},
        "google.protobuf.FieldMask": {"type": "string"},
        "google.protobuf.Struct": {"type": "object"},
        "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
        "google.protobuf.Value": {},
    }
)


def _component(descriptor: Descriptor | EnumDescriptor) -> str:
    """The name of a schema: the full name without the package."""
    return descriptor.full_name.removeprefix(f"{descriptor.file.package}.")


def _names(fields: Iterable[FieldDescriptor]) -> list[Value]:
    return [field.json_name for field in fields]


def _choices(descriptor: Descriptor) -> Schema:
    """What a oneof allows: one of its fields, or none where none must be chosen."""
    rules: list[Value] = []
    for oneof in descriptor.oneofs:
        if len(oneof.fields) > 1:
            options: list[Value] = [{"required": _names([field])} for field in oneof.fields]
            if not must_choose(descriptor, oneof.name):
                options.append({"not": {"anyOf": list(options)}})
            rules.append({"oneOf": options})
    return {"allOf": rules} if len(rules) > 1 else cast(Schema, rules[0]) if rules else {}
