"""Every error that a client can get, from one table.

    ApiError                    a reason, a sentence, metadata, and for bad fields each violation
      .status()                 as `google.rpc.Status` with ErrorInfo (BadRequest, RetryInfo): what gRPC sends
      .http_status, .body()     as HTTP status and AIP-193 body: what REST sends
      .renamed(name)            with other names for the bad fields: those that REST has for them
    answer_to(exception)        the ApiError that answers an exception of the layers below

The reasons are those of `rummy.v1.ErrorReason`; a test holds the two to each other. An error travels in trailers, of
which many clients take 8 KiB at most: of more bad fields than fit, the first are named, and how many are left off.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from google.protobuf import json_format
from google.rpc import code_pb2, error_details_pb2, status_pb2

from engine.errors import BadRequest, Reason, Refused
from service.games.errors import GameError, GameReason
from service.store.errors import BadCursor, NewerTable, StoreUnavailable

__all__ = [
    "CODES",
    "DOMAIN",
    "HTTP_STATUSES",
    "ApiError",
    "Violation",
    "answer_to",
    "bad_page_token",
    "draining",
    "http_status_of",
    "impossible",
    "invalid",
    "not_read",
]

DOMAIN: Final = "rummyd"

_MOST_BYTES: Final = 4200
"""Of the violations in an error: 5600 in base 64, as gRPC sends them."""
_MOST_IN_TEXT: Final = 3
"""Violations named in the error's sentence, too."""

_REASONS: Final[Mapping[int, tuple[str, ...]]] = {
    code_pb2.INVALID_ARGUMENT: (
        "INVALID_FIELD",
        "INVALID_RULE_SET",
        "INVALID_PAGE_TOKEN",
        BadRequest.reason,
        "BODY_TOO_LARGE",
        "BODY_COMPRESSED",
        "HEAD_TOO_LARGE",
    ),
    code_pb2.UNAUTHENTICATED: (
        GameReason.TOKEN_REQUIRED,
        GameReason.TOKEN_INVALID,
        "API_KEY_REQUIRED",
        "API_KEY_INVALID",
    ),
    code_pb2.PERMISSION_DENIED: (GameReason.SPECTATORS_NOT_ALLOWED,),
    code_pb2.NOT_FOUND: (
        GameReason.GAME_NOT_FOUND,
        GameReason.CODE_NOT_FOUND,
        "RULE_SET_NOT_FOUND",
        "METHOD_NOT_FOUND",
    ),
    code_pb2.ALREADY_EXISTS: (GameReason.REQUEST_ID_REUSED,),
    code_pb2.ABORTED: (GameReason.VERSION_MISMATCH, GameReason.CONTENTION, GameReason.FELL_BEHIND, "BODY_TOO_SLOW"),
    code_pb2.FAILED_PRECONDITION: (
        GameReason.GAME_NOT_OPEN,
        GameReason.GAME_NOT_STARTED,
        GameReason.GAME_NOT_OVER,
        GameReason.GAME_OVER,
        GameReason.SEAT_TAKEN,
        GameReason.TOO_FEW_PLAYERS,
        *(reason for reason in Reason if reason is not Reason.MATCH_OVER),  # a use case says GAME_OVER before
    ),
    code_pb2.RESOURCE_EXHAUSTED: ("LIMIT_EXCEEDED",),
    code_pb2.UNIMPLEMENTED: ("VERB_NOT_ALLOWED",),
    code_pb2.UNAVAILABLE: ("STORE_UNAVAILABLE", GameReason.SERVER_DRAINING, "NEWER_SCHEMA"),
    code_pb2.INTERNAL: ("INTERNAL",),
}

CODES: Final[Mapping[str, int]] = MappingProxyType(
    {str(reason): code for code, reasons in _REASONS.items() for reason in reasons}
)
"""The `google.rpc.Code` of each reason."""

HTTP_STATUSES: Final[Mapping[int, int]] = MappingProxyType(
    {
        code_pb2.INVALID_ARGUMENT: 400,
        code_pb2.FAILED_PRECONDITION: 400,
        code_pb2.UNAUTHENTICATED: 401,
        code_pb2.PERMISSION_DENIED: 403,
        code_pb2.NOT_FOUND: 404,
        code_pb2.ALREADY_EXISTS: 409,
        code_pb2.ABORTED: 409,
        code_pb2.RESOURCE_EXHAUSTED: 429,
        code_pb2.INTERNAL: 500,
        code_pb2.UNIMPLEMENTED: 501,
        code_pb2.UNAVAILABLE: 503,
    }
)
"""The HTTP status of each code that is used, as `google.rpc.Code` documents it."""

_OF_HTTP: Final[Mapping[str, int]] = MappingProxyType(
    {
        "VERB_NOT_ALLOWED": 405,
        "BODY_TOO_SLOW": 408,
        "BODY_TOO_LARGE": 413,
        "BODY_COMPRESSED": 415,
        "HEAD_TOO_LARGE": 431,
    }
)
"""What HTTP alone can refuse has the status that HTTP has for it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One bad field of a request: its path (`game.rule_set.jokers`), a sentence, and a code of the fault."""

    field: str
    text: str
    reason: str = "INVALID"


class ApiError(Exception):
    """An answer that is an error. `reason` is one of `CODES`; `text` is for a developer and names no secret."""

    def __init__(
        self,
        reason: str,
        text: str,
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[Violation] = (),
        retry_s: float | None = None,
    ) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text = reason, text
        self.code = CODES[reason]
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_s = retry_s
        """In how many seconds the same call may do better, where that is known."""

    @property
    def code_name(self) -> str:
        """The code's name, such as `NOT_FOUND`."""
        return code_pb2.Code.Name(self.code)

    @property
    def http_status(self) -> int:
        """The HTTP status, such as 404."""
        return http_status_of(self.reason)

    def renamed(self, name: Callable[[str], str]) -> "ApiError":
        """The same error, with the path of each bad field as `name` has it."""
        return ApiError(self.reason, self.text, self.metadata, _renamed(self.violations, name), self.retry_s)

    def status(self) -> status_pb2.Status:
        """The error as `google.rpc.Status`, for `grpc-status-details-bin`."""
        info = error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)
        status = status_pb2.Status(code=self.code, message=self.text)
        status.details.add().Pack(info)
        if self.violations:
            bad = error_details_pb2.BadRequest()
            for violation in self.violations:
                bad.field_violations.add(field=violation.field, description=violation.text, reason=violation.reason)
            status.details.add().Pack(bad)
        if self.retry_s is not None:
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromMilliseconds(math.ceil(self.retry_s * 1000))
            status.details.add().Pack(retry)
        return status

    def body(self) -> dict[str, object]:
        """The error as the JSON body of AIP-193: `{"error": {code, message, status, details}}`."""
        details = json_format.MessageToDict(self.status())["details"]
        return {
            "error": {
                "code": self.http_status,
                "message": self.text,
                "status": self.code_name,
                "details": details,
            }
        }


class _BadFields(ApiError):
    """An error whose sentence, after how it `begins`, is made of its violations."""

    def __init__(self, reason: str, begins: str, violations: Iterable[Violation]) -> None:
        self._begins, self._found = begins, list(violations)
        room = _MOST_BYTES
        fitting = [bad for bad in self._found if (room := room - _size(bad)) >= 0]
        left_off = len(self._found) - len(fitting)
        named = [f"{bad.field}: {bad.text}" if bad.field else bad.text for bad in self._found[:_MOST_IN_TEXT]]
        if len(self._found) > len(named):
            named.append(f"and {len(self._found) - len(named)} more")
        metadata = {"violations_left_off": str(left_off)} if left_off else None
        super().__init__(reason, begins + "; ".join(named), metadata, fitting)

    def renamed(self, name: Callable[[str], str]) -> ApiError:
        return _BadFields(self.reason, self._begins, _renamed(self._found, name))


def http_status_of(reason: str) -> int:
    """The HTTP status of a reason."""
    return _OF_HTTP.get(reason) or HTTP_STATUSES[CODES[reason]]


def invalid(violations: Iterable[Violation]) -> ApiError:
    """INVALID_ARGUMENT that names every bad field."""
    return _BadFields("INVALID_FIELD", "", violations)


def impossible(violations: Iterable[Violation]) -> ApiError:
    """INVALID_ARGUMENT that names every fault of a rule set."""
    return _BadFields("INVALID_RULE_SET", "the rule set cannot be played: ", violations)


def bad_page_token() -> ApiError:
    """INVALID_ARGUMENT for a page token that the call has not given."""
    text = "the page token is none that this call gave"
    return ApiError("INVALID_PAGE_TOKEN", text, violations=[Violation("page_token", text, "INVALID_PAGE_TOKEN")])


def draining() -> ApiError:
    """UNAVAILABLE for a call that comes when the server is about to stop."""
    return ApiError(GameReason.SERVER_DRAINING, "the server stops; go on with another")


def not_read(seconds: float) -> ApiError:
    """ABORTED for a stream of which the client has taken nothing for so long."""
    text = f"nothing was read for {seconds:g} seconds; go on from the last version received"
    return ApiError(GameReason.FELL_BEHIND, text)


def answer_to(error: Exception, call_id: str) -> ApiError:
    """The answer to an exception of the layers below.

    What is not raised on purpose is INTERNAL, and says nothing of its cause.
    """
    match error:
        case ApiError():
            return error
        case GameError():
            return ApiError(error.reason, error.text, error.metadata)
        case Refused():
            known = {"clause": error.clause, "rule": error.field, "cards": error.cards, "action": str(error.index)}
            return ApiError(error.reason, error.text, {name: text for name, text in known.items() if text})
        case BadRequest():
            violation = Violation(f"actions[{error.index}]", error.text, error.reason)
            return ApiError(error.reason, error.text, violations=[violation])
        case BadCursor():
            return bad_page_token()
        case StoreUnavailable():
            return ApiError("STORE_UNAVAILABLE", "the store of games cannot be reached; try again")
        case NewerTable():
            return ApiError("NEWER_SCHEMA", "the table was stored by a newer release of the server; try another server")
        case _:
            return ApiError("INTERNAL", "a fault of the server; its log has the call's id", {"call_id": call_id})


def _renamed(violations: Iterable[Violation], name: Callable[[str], str]) -> list[Violation]:
    return [replace(violation, field=name(violation.field)) for violation in violations]


def _size(violation: Violation) -> int:
    """What a violation takes in a message, at most."""
    return sum(len(text.encode()) + 3 for text in (violation.field, violation.text, violation.reason)) + 3
