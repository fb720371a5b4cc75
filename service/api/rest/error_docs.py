"""How the document tells of errors: one schema, and for each HTTP status a response that lists its reasons."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from google.rpc import code_pb2
from rummy.v1.error_reason_pb2 import ErrorReason

from service.api.errors import CODES, DOMAIN, http_status_of
from service.api.rest.openapi_types import Schema, Value

__all__ = ["ERROR", "NAMES", "code_name", "error_responses"]

ERROR: Final = "#/components/schemas/Error"

NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "BadRequest",
        401: "Unauthenticated",
        403: "Forbidden",
        404: "NotFound",
        408: "BodyTooSlow",
        409: "Conflict",
        413: "BodyTooLarge",
        415: "BodyCompressed",
        429: "LimitExceeded",
        431: "HeadTooLarge",
        500: "Internal",
        503: "Unavailable",
    }
)
"""What the document calls the response of each status."""

_ABOUT: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "The request is malformed, or the table or the rules do not allow it.",
        401: "The call needs another token, or an API key.",
        403: "The table keeps the caller away.",
        404: "There is no such thing.",
        408: "The body was not there in time. Send the request again.",
        409: "The call does not go with what was done before.",
        413: "The body is too large.",
        415: "The body is compressed.",
        429: "The caller, or the table, has reached a limit. Come again when the answer says.",
        431: "The request's line and headers are too large.",
        500: "A fault of the server.",
        503: "The server cannot answer now. Try again.",
    }
)


def error_responses(comments: Mapping[str, str]) -> tuple[Schema, Schema]:
    """The schemas that errors need, and a response for each status in `NAMES`."""
    return _schemas(), {name: _response(status, comments) for status, name in NAMES.items()}


def code_name(code: int) -> str:
    """The name of a `google.rpc.Code`, such as `NOT_FOUND`."""
    name: str = code_pb2.Code.Name(code)
    return name


def _response(status: int, comments: Mapping[str, str]) -> Schema:
    enum = ErrorReason.DESCRIPTOR
    lines = [_ABOUT[status], ""]
    for reason, code in CODES.items():
        if http_status_of(reason) == status:
            comment = comments.get(f"{enum.full_name}.ERROR_REASON_{reason}", "").replace("\n", " ")
            lines.append(f"- `{reason}` ({code_name(code)}): {comment}")
    headers: Schema = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
    if status == 401:
        headers["WWW-Authenticate"] = {"schema": {"type": "string"}, "required": True}
    if status in {429, 503}:
        headers["Retry-After"] = {"schema": {"type": "string"}, "description": "Seconds to wait.", "required": True}
    content: Schema = {"application/json": {"schema": {"$ref": ERROR}}}
    return {"description": "\n".join(lines).strip(), "headers": headers, "content": content}


def _schemas() -> Schema:
    codes: list[Value] = [*sorted({code_name(code) for code in CODES.values()})]
    reasons: list[Value] = list(CODES)
    info = _detail(
        "ErrorInfo",
        {
            "reason": {"type": "string", "enum": reasons},
            "domain": {"const": DOMAIN},
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        required=["reason", "domain"],
    )
    text: Schema = {"type": "string"}
    violation = _object(
        {"field": text, "description": text, "reason": text}, required=["field", "description", "reason"]
    )
    bad = _detail(
        "BadRequest", {"fieldViolations": {"type": "array", "items": violation}}, required=["fieldViolations"]
    )
    retry = _detail(
        "RetryInfo", {"retryDelay": {"type": "string", "pattern": r"^\d+(\.\d+)?s$"}}, required=["retryDelay"]
    )
    details: Schema = {"type": "array", "items": {"anyOf": [info, bad, retry]}}
    error = _object(
        {"code": {"type": "integer"}, "message": text, "status": {"type": "string", "enum": codes}, "details": details},
        required=["code", "message", "status", "details"],
    )
    about = (
        "An error, as AIP-193 has it. The first detail says the reason; where fields are at fault, the next names "
        "each; where a limit is reached, it says when to come again."
    )
    return {"Error": _object({"error": error}, required=["error"]) | {"description": about}}


def _detail(name: str, properties: Schema, *, required: list[Value]) -> Schema:
    """One of google.rpc's details: its type is its first property."""
    kind: Schema = {"@type": {"const": f"type.googleapis.com/google.rpc.{name}"}}
    return _object(kind | properties, required=["@type", *required])


def _object(properties: Schema, *, required: list[Value]) -> Schema:
    return {"type": "object", "properties": properties, "required": required}
