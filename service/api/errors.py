"""Every error that a client can get, from one table.

    ApiError                    a reason, a sentence, metadata, and for bad fields each violation
      .status()                 as `google.rpc.Status` with ErrorInfo (and BadRequest): what gRPC sends
      .http_status, .body()     as HTTP status and AIP-193 body: what REST sends
    answer_to(exception)        the ApiError that answers an exception of the layers below

The reasons are those of `rummy.v1.ErrorReason`; a test holds the two to each other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from google.protobuf import any_pb2, json_format
from google.rpc import code_pb2, error_details_pb2, status_pb2

from engine.errors import BadRequest, Reason, Refused
from service.games.errors import GameError
from service.store.errors import BadCursor, NewerTable, StoreUnavailable

__all__ = ["CODES", "DOMAIN", "HTTP_STATUSES", "ApiError", "Violation", "answer_to", "bad_page_token", "invalid"]

DOMAIN: Final = "rummyd"

_FIELDS = ("INVALID_FIELD", "INVALID_RULE_SET", "INVALID_PAGE_TOKEN", "ACTION_AFTER_DRAW")
_TABLE = (
    "GAME_NOT_OPEN",
    "GAME_FULL",
    "SEAT_TAKEN",
    "TOO_FEW_PLAYERS",
    "GAME_NOT_STARTED",
    "GAME_OVER",
)

CODES: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(_FIELDS, code_pb2.INVALID_ARGUMENT),
        **dict.fromkeys(_TABLE, code_pb2.FAILED_PRECONDITION),
        **dict.fromkeys((reason.value for reason in Reason), code_pb2.FAILED_PRECONDITION),
        "TOKEN_REQUIRED": code_pb2.UNAUTHENTICATED,
        "TOKEN_INVALID": code_pb2.UNAUTHENTICATED,
        "GAME_NOT_FOUND": code_pb2.NOT_FOUND,
        "RULE_SET_NOT_FOUND": code_pb2.NOT_FOUND,
        "METHOD_NOT_FOUND": code_pb2.NOT_FOUND,
        "REQUEST_ID_REUSED": code_pb2.ALREADY_EXISTS,
        "VERSION_MISMATCH": code_pb2.ABORTED,
        "CONTENTION": code_pb2.ABORTED,
        "FELL_BEHIND": code_pb2.ABORTED,
        "STORE_UNAVAILABLE": code_pb2.UNAVAILABLE,
        "SERVER_DRAINING": code_pb2.UNAVAILABLE,
        "NEWER_SCHEMA": code_pb2.UNAVAILABLE,
        "INTERNAL": code_pb2.INTERNAL,
    }
)
"""The `google.rpc.Code` of each reason."""

HTTP_STATUSES: Final[Mapping[int, int]] = MappingProxyType(
    {
        code_pb2.INVALID_ARGUMENT: 400,
        code_pb2.FAILED_PRECONDITION: 400,
        code_pb2.UNAUTHENTICATED: 401,
        code_pb2.NOT_FOUND: 404,
        code_pb2.ALREADY_EXISTS: 409,
        code_pb2.ABORTED: 409,
        code_pb2.INTERNAL: 500,
        code_pb2.UNAVAILABLE: 503,
    }
)
"""The HTTP status of each code that is used, as `google.rpc.Code` documents it."""


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
    ) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text = reason, text
        self.code = CODES[reason]
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)

    @property
    def code_name(self) -> str:
        """The code's name, such as `NOT_FOUND`."""
        return code_pb2.Code.Name(self.code)

    @property
    def http_status(self) -> int:
        """The HTTP status, such as 404."""
        return HTTP_STATUSES[self.code]

    def status(self) -> status_pb2.Status:
        """The error as `google.rpc.Status`, for `grpc-status-details-bin`."""
        info = error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)
        details = [_pack(info)]
        if self.violations:
            bad = error_details_pb2.BadRequest()
            for violation in self.violations:
                bad.field_violations.add(field=violation.field, description=violation.text, reason=violation.reason)
            details.append(_pack(bad))
        return status_pb2.Status(code=self.code, message=self.text, details=details)

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


def invalid(violations: Iterable[Violation]) -> ApiError:
    """INVALID_ARGUMENT that names every bad field."""
    found = tuple(violations)
    return ApiError("INVALID_FIELD", "; ".join(f"{v.field}: {v.text}" for v in found), violations=found)


def bad_page_token() -> ApiError:
    """INVALID_ARGUMENT for a page token that the call has not given."""
    text = "the page token is none that this call gave"
    return ApiError("INVALID_PAGE_TOKEN", text, violations=[Violation("page_token", text, "INVALID_PAGE_TOKEN")])


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
            violation = Violation(f"actions[{error.index}]", error.text, "ACTION_AFTER_DRAW")
            return ApiError("ACTION_AFTER_DRAW", error.text, violations=[violation])
        case BadCursor():
            return bad_page_token()
        case StoreUnavailable():
            return ApiError("STORE_UNAVAILABLE", "the store of games cannot be reached; try again")
        case NewerTable():
            return ApiError("NEWER_SCHEMA", "the table was stored by a newer release of the server; try another server")
        case _:
            return ApiError("INTERNAL", "a fault of the server; its log has the call's id", {"call_id": call_id})


def _pack(message: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
