"""The least request that could be meant, to begin with: what the docs offer to send."""

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from service.api.rest.annotations import is_read_only, is_required, must_choose, rules_of
from service.api.rest.constraints import constraints
from service.api.rest.from_json import has_own_form, is_map
from service.api.rest.openapi_types import Schema, Value

__all__ = ["example"]


def example(descriptor: Descriptor, *, without: frozenset[str] = frozenset()) -> Schema:
    """A message with the fields that are required, or that the protos give an example of, and with no others."""
    found: Schema = {}
    for field in descriptor.fields:
        if field.name not in without and not is_read_only(field) and _is_shown(field):
            found[field.json_name] = [_value(field)] if field.is_repeated else _value(field)
    return found


def _is_shown(field: FieldDescriptor) -> bool:
    """Whether the field is required, has an example, or is the first of a oneof of which one is required."""
    return is_required(field) or "examples" in _limits(field) or _is_first_choice(field)


def _is_first_choice(field: FieldDescriptor) -> bool:
    group, holder = field.containing_oneof, field.containing_type
    return bool(group and holder and group.fields[0].name == field.name and must_choose(holder, group.name))


def _limits(field: FieldDescriptor) -> Schema:
    rules = rules_of(field)
    return constraints(rules.repeated.items if field.is_repeated else rules)


def _value(field: FieldDescriptor) -> Value:
    limits = _limits(field)
    match limits.get("examples"):
        case [first, *_]:
            return first
    if is_map(field):
        return {}
    if field.message_type:
        return None if has_own_form(field.message_type) else example(field.message_type)
    if field.enum_type:
        return field.enum_type.values[-1].name
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return False
        case FieldDescriptor.CPPTYPE_STRING:
            return field.json_name
        case _:
            return limits.get("minimum", 1)
