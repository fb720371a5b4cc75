"""Refusals that only HTTP has: a status of their own, and headers that it asks for.

Their bodies are those of every other error (`service.api.errors`).
"""

from collections.abc import Iterable

from service.api.errors import ApiError

__all__ = ["HttpError", "encoded", "not_allowed", "not_found", "too_large"]


class HttpError(ApiError):
    """An error whose HTTP status is not the one that its code stands for."""

    def __init__(self, http_status: int, reason: str, text: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(reason, text)
        self._http_status = http_status
        self.headers = tuple(headers)

    @property
    def http_status(self) -> int:
        """The HTTP status, such as 405."""
        return self._http_status


def not_found() -> ApiError:
    """404: no method of the API has this path."""
    return ApiError("METHOD_NOT_FOUND", "no method of this API has this path; /openapi.json lists them all")


def not_allowed(verbs: Iterable[str]) -> HttpError:
    """405: methods of the API have this path, but with other verbs; RFC 9110 wants them named in `Allow`."""
    allow = ", ".join(sorted(set(verbs)))
    return HttpError(405, "METHOD_NOT_FOUND", f"this path takes {allow} only", [("allow", allow)])


def too_large(limit: int) -> HttpError:
    """413: the body has more than `limit` bytes."""
    return HttpError(413, "INVALID_FIELD", f"the body is larger than {limit} bytes")


def encoded() -> HttpError:
    """415: the body is compressed, and what it would grow to is not known."""
    return HttpError(415, "INVALID_FIELD", "the body must not be compressed", [("accept-encoding", "identity")])
