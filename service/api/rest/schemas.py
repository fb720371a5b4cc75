"""JSON Schemas of messages and enums, made of their descriptors, comments and constraints.

    schemas = Schemas(comments, asked, answered)
    schemas.message(descriptor, Form.ANSWER)    {"$ref": "#/components/schemas/Game"}
    schemas.message(descriptor, Form.REQUEST)   {"$ref": "#/components/schemas/GameInput"}
    schemas.components                          each message and enum that was referred to

A message with a oneof is a choice of objects, one for each of its fields: `DrawAction` has `draw` and nothing else.
Generators of clients make a union of that, which says in the types what is there.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from service.api.rest.annotations import is_of_resource, is_read_only, is_required, must_choose, rules_of
from service.api.rest.constraints import constraints
from service.api.rest.from_json import has_own_form, is_map
from service.api.rest.openapi_types import Schema, Value
from service.api.rest.scalars import INTEGER_RANGES

__all__ = ["Form", "Schemas", "held_by"]


class Form(Enum):
    """For which way a message is described."""

    REQUEST = auto()
    """What a client may send: what it must set is required, and what there is not, or is not the client's to set, is
    not in it. Where answers have the message, too, its schema is called `…Input`."""
    ANSWER = auto()
    """What the server sends: required is all that is always there. A later release may send more."""
    EITHER = auto()
    """A value, such as Action, that goes as it is from an answer into a request: one schema, so that programs have one
    type for it. It promises what holds both ways."""


class Schemas:
    """The schemas of one document. `asked` and `answered` are the full names of all messages in requests and answers.

    What an answer may lack is, of the messages and optional fields, those whose comment says when they are unset.
    """

    def __init__(self, comments: Mapping[str, str], asked: frozenset[str], answered: frozenset[str]) -> None:
        self.components: Schema = {}
        self._comments = comments
        self._both = asked & answered

    def message(self, descriptor: Descriptor, form: Form, without: frozenset[str] = frozenset()) -> Schema:
        """Refers to a message in a request or an answer, less the fields `without`."""
        if has_own_form(descriptor):
            return dict(_OWN_FORMS[descriptor.full_name])
        name = _component(descriptor)
        if descriptor.full_name in self._both:
            if not is_of_resource(descriptor):
                form = Form.EITHER
            elif form is Form.REQUEST:
                name += "Input"
        if name not in self.components:
            self.components[name] = {}  # a message that holds itself refers to what is being made
            self.components[name] = self._described(descriptor, name, form, without)
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: FieldDescriptor, form: Form) -> Schema:
        """The schema of a field, with its comment and constraints."""
        rules = rules_of(field)
        if is_map(field):
            entry = cast(Descriptor, field.message_type)
            schema: Schema = {"type": "object", "additionalProperties": self.field(entry.fields_by_name["value"], form)}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._single(field, form) | constraints(rules.repeated.items)}
        else:
            schema = self._single(field, form)
        return schema | constraints(rules) | self._told(field)

    def _described(self, descriptor: Descriptor, name: str, form: Form, without: frozenset[str]) -> Schema:
        hidden = {field.name for field in descriptor.fields if form is Form.REQUEST and is_read_only(field)} | without
        fields = [field for field in descriptor.fields if field.name not in hidden]
        choices = [field for field in fields if _is_choice(field)]
        if not choices:
            return self._object(fields, form) | self._told(descriptor)
        if len({choice.containing_oneof.name for choice in choices if choice.containing_oneof}) > 1:
            raise ValueError(f"{descriptor.full_name}: no two oneofs in a message are possible here")
        common = [field for field in fields if not _is_choice(field)]
        options: list[Value] = []
        for choice in choices:
            option = f"{choice.json_name[:1].upper()}{choice.json_name[1:]}{name}"
            if option in self.components:
                raise ValueError(f"{choice.full_name}: {option} is another message")
            self.components[option] = self._object([choice, *common], form) | self._told(choice)
            options.append({"$ref": f"#/components/schemas/{option}"})
        return {"oneOf": options} | self._told(descriptor)

    def _object(self, fields: Iterable[FieldDescriptor], form: Form) -> Schema:
        schema: Schema = {"type": "object", "properties": {}}
        schema["properties"] = {field.json_name: self.field(field, form) for field in fields}
        required: list[Value] = [field.json_name for field in fields if self._is_needed(field, form)]
        if required:
            schema["required"] = required
        if form is Form.REQUEST:
            schema["additionalProperties"] = False
        return schema

    def _is_needed(self, field: FieldDescriptor, form: Form) -> bool:
        """Whether the object that is described always has the field."""
        if _is_choice(field):
            group, holder = field.containing_oneof, field.containing_type
            if form is not Form.ANSWER and not (group and holder and must_choose(holder, group.name)):
                raise ValueError(f"{field.full_name}: no oneof of which none may be chosen is possible here")
            return True
        if form is Form.ANSWER:
            return not (field.has_presence and _UNSET.search(self._comments.get(field.full_name, "")))
        return is_required(field)

    def _told(self, thing: Descriptor | FieldDescriptor) -> Schema:
        comment = self._comments.get(thing.full_name)
        return {"description": comment} if comment else {}

    def _single(self, field: FieldDescriptor, form: Form) -> Schema:
        if field.message_type:
            return self.message(field.message_type, form)
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


def held_by(descriptors: Iterable[Descriptor], form: Form) -> frozenset[str]:
    """The full names of these messages and of every message that they hold, at any depth, in this form."""
    found: set[str] = set()
    todo = list(descriptors)
    while todo:
        descriptor = todo.pop()
        if descriptor.full_name not in found:
            found.add(descriptor.full_name)
            fields = [field for field in descriptor.fields if form is not Form.REQUEST or not is_read_only(field)]
            todo += [field.message_type for field in fields if field.message_type]
    return frozenset(found)


_UNSET: Final = re.compile(r"\bunset\b", re.IGNORECASE)

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


def _is_choice(field: FieldDescriptor) -> bool:
    """Whether the field is one of several of a oneof; an `optional` field has one of its own."""
    return field.containing_oneof is not None and len(field.containing_oneof.fields) > 1
