"""Rules for a field's values as keywords of JSON Schema.

Every rule of the protos is checked with each request: by `service.api.checks`, or where the protos say `IGNORE_ALWAYS`,
which is of rule sets, by the engine (`engine.faults`). What has no keyword of its own, such as a rule over several
fields, is told by the comments.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from buf.validate import validate_pb2
from google.protobuf.message import Message

from service.api.rest.openapi_types import Schema, Value

__all__ = ["constraints"]


def constraints(rules: validate_pb2.FieldRules) -> Schema:
    """The keywords of JSON Schema that say the same, and the examples that the protos give."""
    kind = rules.WhichOneof("type")
    if kind in {None, "duration", "timestamp"}:  # a range of times has no keyword
        return {}
    of_kind: Message = getattr(rules, kind)
    found: Schema = {}
    for field, value in of_kind.ListFields():
        if field.name in _KEYWORDS:
            found[_KEYWORDS[field.name]] = value
        elif field.name in _FORMATS and value:
            found["format"] = _FORMATS[field.name]
        elif field.name in _LISTS:
            values: list[Value] = list(value)
            found[_LISTS[field.name]] = values
    return found


_KEYWORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gte": "minimum",
        "gt": "exclusiveMinimum",
        "lte": "maximum",
        "lt": "exclusiveMaximum",
        "const": "const",
        "pattern": "pattern",
        "min_len": "minLength",
        "max_len": "maxLength",
        "min_items": "minItems",
        "max_items": "maxItems",
        "unique": "uniqueItems",
        "min_pairs": "minProperties",
        "max_pairs": "maxProperties",
    }
)
_FORMATS: Final[Mapping[str, str]] = MappingProxyType({"uuid": "uuid", "email": "email", "uri": "uri"})
_LISTS: Final[Mapping[str, str]] = MappingProxyType({"in": "enum", "example": "examples"})
