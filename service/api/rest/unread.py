"""Answers to what never becomes a request of HTTP: the server asks for them, since the application is not called."""

from http import HTTPStatus

from service.api.callers import new_call_id
from service.api.rest.answers import COMMON, error_body
from service.api.rest.errors import head_too_large, no_http
from service.connections import MOST_HEAD_BYTES
from service.observability import account

__all__ = ["refuse_unread"]


def refuse_unread(status: HTTPStatus) -> bytes:
    """The whole answer, as `service.connections` sends it before it hangs up; it is logged and counted as a call is."""
    error = no_http() if status is HTTPStatus.BAD_REQUEST else head_too_large(MOST_HEAD_BYTES)
    call_id = new_call_id()
    with account.recorded("unknown", "rest", call_id) as call:
        call.failed(error.code_name, error.reason)
    body = error_body(error)
    headers = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"x-request-id", call_id.encode()),
        *COMMON,
    )
    head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} {status.phrase}\r\n".encode() + head + b"\r\n" + body
