"""Refusals that only HTTP has, with the headers that it asks for.

Their bodies are those of every other error (`service.api.errors`).
"""

from collections.abc import Iterable

from service.api.errors import ApiError, Violation, invalid

__all__ = ["HttpError", "encoded", "head_too_large", "no_http", "not_allowed", "not_found", "too_large", "too_slow"]


class HttpError(ApiError):
    """An error with headers of its own."""

    def __init__(self, reason: str, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(reason, text)
        self.headers = headers


def no_http() -> ApiError:
    """400: what came is no request of HTTP."""
    return invalid([Violation("", "the bytes are no request of HTTP/1.1", "MALFORMED")])


def head_too_large(limit: int) -> ApiError:
    """431: the request's line and headers have more than `limit` bytes."""
    return ApiError("HEAD_TOO_LARGE", f"the request's line and headers are larger than {limit} bytes")


def not_found() -> ApiError:
    """404: no method of the API has this path."""
    return ApiError("METHOD_NOT_FOUND", "no method of this API has this path; /openapi.json lists them all")


def not_allowed(verbs: Iterable[str]) -> HttpError:
    """405: methods of the API have this path, but with other verbs; RFC 9110 wants them named in `Allow`."""
    allow = ", ".join(sorted(set(verbs)))
    return HttpError("VERB_NOT_ALLOWED", f"this path takes {allow} only", ("allow", allow))


def too_large(limit: int) -> ApiError:
    """413: the body has more than `limit` bytes."""
    return ApiError("BODY_TOO_LARGE", f"the body is larger than {limit} bytes")


def too_slow(seconds: float) -> HttpError:
    """408: the body was not there in time."""
    text = f"the body was not there after {seconds:g} seconds; send the request again"
    return HttpError("BODY_TOO_SLOW", text, ("connection", "close"))


def encoded() -> HttpError:
    """415: the body is compressed, and what it would grow to is not known."""
    return HttpError("BODY_COMPRESSED", "the body must not be compressed", ("accept-encoding", "identity"))
