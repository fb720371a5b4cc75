"""Reading JSON so that nothing which was written is lost: not a member given twice, not the difference of 1 and 1.0."""

import json
from typing import Final, NoReturn, TypeAlias, Union

from service.api.errors import ApiError, Violation, invalid

__all__ = ["Json", "JsonObject", "kind", "parse"]


class JsonObject:
    """An object of JSON: its members in order, each as it was written."""

    __slots__ = ("members",)

    def __init__(self, members: "list[tuple[str, Json]]") -> None:
        self.members = members


Json: TypeAlias = Union[bool, int, float, str, list["Json"], JsonObject, None]  # noqa: UP007  a quoted part takes no `|`


def parse(body: bytes) -> Json:
    """Reads JSON; an empty body is an empty object. Raises ApiError INVALID_FIELD where it is not JSON in UTF-8."""
    if not body.strip():
        return JsonObject([])
    try:
        return _read(body.decode())
    except UnicodeDecodeError:
        raise _unreadable("must be UTF-8") from None
    except RecursionError:
        raise _unreadable("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"must be JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise _unreadable(f"must be JSON: {error}") from None


def kind(value: Json) -> str:
    """What a value is, as a sentence says it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
    return "an object"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is none of its values")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=JsonObject, parse_constant=_no_constant)


def _read(text: str) -> Json:
    value: Json = _DECODER.decode(text)
    return value


def _unreadable(text: str) -> ApiError:
    return invalid([Violation("body", text, "NOT_JSON")])
