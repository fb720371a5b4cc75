"""From one value of JSON, or of a query, to one value of a field: number, string, bytes, boolean or enum."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from service.api.rest.json_text import Json, kind

__all__ = ["INTEGER_RANGES", "Scalar", "Unfit", "from_text", "scalar"]

Scalar: TypeAlias = bool | int | float | str | bytes


class Unfit(Exception):
    """A value does not fit its field: what it must be, in words, and a code of the fault."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


def scalar(field: FieldDescriptor, value: Json) -> Scalar:
    """The value of a field, or of one of its elements. Raises Unfit."""
    return _READERS[field.cpp_type](field, value)


def from_text(field: FieldDescriptor, text: str) -> Json:
    """Text of a query as the JSON that it stands for: `true` and `false` for a boolean, digits for an enum's number."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL and text in {"true", "false"}:
        return text == "true"
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and _DIGITS.fullmatch(text):
        return int(text)
    return text


INTEGER_RANGES: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {
        FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
        FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
        FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
        FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    }
)
"""The least and the greatest value of each type of integer."""

_DIGITS: Final = re.compile(r"-?[0-9]{1,20}")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def _integer(field: FieldDescriptor, value: Json) -> int:
    low, high = INTEGER_RANGES[field.cpp_type]
    must = f"must be an integer from {low} to {high}"
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit(f"{must}, not {kind(value)}", "NOT_AN_INTEGER")
    if not low <= value <= high:
        raise Unfit(must, "OUT_OF_RANGE")
    return value


def _number(_field: FieldDescriptor, value: Json) -> float:
    if isinstance(value, str) and (_NUMBER.fullmatch(value) or value in {"NaN", "Infinity", "-Infinity"}):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(f"must be a number, not {kind(value)}", "NOT_A_NUMBER")
    try:
        return float(value)
    except OverflowError:
        raise Unfit("must be a number that a double can hold", "OUT_OF_RANGE") from None


def _boolean(_field: FieldDescriptor, value: Json) -> bool:
    if not isinstance(value, bool):
        raise Unfit(f"must be true or false, not {kind(value)}", "NOT_A_BOOLEAN")
    return value


def _text(field: FieldDescriptor, value: Json) -> str | bytes:
    if not isinstance(value, str):
        raise Unfit(f"must be a string, not {kind(value)}", "NOT_A_STRING")
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _base64(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unfit("must be Unicode text: half a surrogate pair is none", "NOT_UTF8") from None
    return value


def _base64(value: str) -> bytes:
    try:
        standard = value.rstrip("=").translate(str.maketrans("-_", "+/"))
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Unfit("must be base64", "NOT_BASE64") from None


def _enum(field: FieldDescriptor, value: Json) -> int:
    enum = cast(EnumDescriptor, field.enum_type)
    if isinstance(value, str) and value in enum.values_by_name:
        return enum.values_by_name[value].number
    if isinstance(value, int) and not isinstance(value, bool) and value in enum.values_by_number:
        return value
    raise Unfit(f"must be one of {', '.join(enum.values_by_name)}", "UNKNOWN_NAME")


_READERS: Final[Mapping[int, Callable[[FieldDescriptor, Json], Scalar]]] = MappingProxyType(
    {
        **dict.fromkeys(INTEGER_RANGES, _integer),
        FieldDescriptor.CPPTYPE_DOUBLE: _number,
        FieldDescriptor.CPPTYPE_FLOAT: _number,
        FieldDescriptor.CPPTYPE_BOOL: _boolean,
        FieldDescriptor.CPPTYPE_STRING: _text,
        FieldDescriptor.CPPTYPE_ENUM: _enum,
    }
)
