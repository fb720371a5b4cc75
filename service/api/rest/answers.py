"""Whole HTTP answers, as ASGI sends them."""

import math
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec
from starlette.types import Send

from service.api.errors import ApiError
from service.api.rest.errors import HttpError

__all__ = ["COMMON", "Headers", "error_body", "send_error", "send_json"]

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

COMMON: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""The headers of every answer of the API: it may hold a hand, so that nothing on the way may keep it."""


async def send_json(send: Send, body: bytes, headers: Headers, *, status: int = 200) -> None:
    """Answers with JSON."""
    about = ((b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*about, *COMMON, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, error: ApiError, headers: Headers) -> None:
    """Answers with an error, with the headers that HTTP asks for with its status."""
    own = [(name.encode(), value.encode()) for name, value in _headers(error)]
    await send_json(send, error_body(error), [*own, *headers], status=error.http_status)


def error_body(error: ApiError) -> bytes:
    """The error as one line of JSON, in the form of AIP-193."""
    return msgspec.json.encode(error.body())


def _headers(error: ApiError) -> Iterable[tuple[str, str]]:
    if isinstance(error, HttpError):
        return error.headers
    match error.http_status:
        case 401:
            return [("www-authenticate", "ApiKey" if error.reason.startswith("API_KEY") else "Bearer")]
        case 429:
            return [("retry-after", str(math.ceil(error.retry_s or 1)))]
        case 503:
            return [("retry-after", "1")]
    return []
