"""What a request must be before it is handled, whatever the state of its table.

    check(request)      raises INVALID_FIELD with every fault that there is

Most of it are the constraints written in the protos. Beside them stands what these cannot say: which names are names
(`names`), and that a duration is one.
"""

from collections.abc import Iterator
from functools import cache
from types import MappingProxyType
from typing import Final, cast

import protovalidate
from google.protobuf.descriptor import Descriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from service.api.errors import Violation, invalid
from service.api.names import fault_of

__all__ = ["WORDS", "check"]


def check(request: Message) -> None:
    """Refuses a request that is none, with every violation at once. Raises ApiError INVALID_FIELD."""
    found = [*_broken(request)]
    found += [fault for fault in _beyond(request) if fault.field not in {broken.field for broken in found}]
    if found:
        raise invalid(found)


WORDS: Final = MappingProxyType(
    {
        "^games/[a-z0-9]{1,40}$": "must be the resource name of a table, as in games/7k2m4q",
        "^ruleSets/[a-z0-9-]{1,40}$": "must be the resource name of a preset, as in ruleSets/basic",
        "^[a-z0-9-]{0,40}$": "must be a preset's name without ruleSets/, as in basic",
        "^([ -]*[2-9A-HJKMNP-TV-Za-hjkmnp-tv-z]){6}[ -]*$": "must be six letters and digits, as in K7M-2QX; "
        "a code has no 0 or O, no 1, I or L, and no U",
        "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$": "must be a random "
        "UUID (version 4), as in 3f2c8a1e-5b7d-4c9f-8e21-9a6b0d4c7f13",
        "^[ -~]{0,64}$": "must be at most 64 printable characters of ASCII",
        "^([0-9a-f]{16})?$": "must be a mark as the server gave it, 16 hex digits, or empty",
        "^([A2-9TJQK][CDHS]|JK)$": "must be a card: rank and suit, as in TD or AS, or JK for a joker",
        "^[A2-9TJQK][CDHS]$": "must be a card that is no joker: rank and suit, as in TD or AS",
    }
)
"""What each pattern of the protos asks for, to people."""


def _broken(request: Message) -> Iterator[Violation]:
    """The constraints of the protos that a request breaks."""
    for violation in protovalidate.collect_violations(request):
        proto = violation.proto
        text = WORDS.get(violation.rule_value, proto.message) if proto.rule_id == "string.pattern" else proto.message
        yield Violation(_path(violation), text, proto.rule_id.upper().replace(".", "_"))


def _path(violation: protovalidate.Violation) -> str:
    """Where a violation is: `actions[0].lay_down.cards[1]`."""
    path = ""
    for element in violation.proto.field.elements if violation.proto.field else ():
        path += f".{element.field_name}"
        if element.subscript is not None:
            path += f"[{element.subscript.value}]"
    return path.removeprefix(".")


def _beyond(request: Message) -> Iterator[Violation]:
    """What is wrong with the names and durations of a request."""
    for path in _places(cast(Descriptor, request.DESCRIPTOR)):  # protobuf's stubs name two classes that are one
        holder = request
        for step in path[:-1]:
            holder = getattr(holder, step)  # one that is not set has no name, and no time
        value = getattr(holder, path[-1])
        if isinstance(value, Duration):
            text, reason = _fault_of_time(value), "MALFORMED"
        else:
            text, reason = fault_of(value), "BAD_NAME"
        if text:
            yield Violation(".".join(path), text, reason)


@cache
def _places(message: Descriptor) -> tuple[tuple[str, ...], ...]:
    """The paths of all names for people and durations in a request, but for those in lists, which only answers have."""
    found: list[tuple[str, ...]] = []
    for field in message.fields:
        inner = field.message_type
        if field.is_repeated:
            continue
        if field.name == "display_name" or (inner and inner.full_name == "google.protobuf.Duration"):
            found.append((field.name,))
        elif inner and not inner.full_name.startswith("google."):
            found += [(field.name, *path) for path in _places(inner)]
    return tuple(found)


def _fault_of_time(time: Duration) -> str | None:
    """`google.protobuf.Duration` says what it may hold, and nobody holds it to that."""
    if abs(time.nanos) > 999_999_999 or time.seconds * time.nanos < 0:
        return "must have nanos from -999999999 to 999999999, of the same sign as its seconds"
    return None
