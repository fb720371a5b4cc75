"""The API over HTTP, as a bare ASGI application: find the method, read the request, call it, write the answer."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from starlette.types import Receive, Scope, Send

from service.api.callers import Caller, call_id_of, caller_of
from service.api.calls import Calls
from service.api.errors import ApiError, draining
from service.api.rest import sse
from service.api.rest.answers import send_error, send_json
from service.api.rest.cursor import resume
from service.api.rest.errors import encoded, too_large, too_slow
from service.api.rest.field_names import name_in
from service.api.rest.presence import until_gone
from service.api.rest.routes import Route, Routes
from service.api.rest.to_json import to_json
from service.api.rest.transcode import transcode
from service.observability import account

__all__ = ["Front"]

_FRONT: Final = "rest"
_UNKNOWN: Final = "unknown"


class Front:
    """Every method of `calls` that the protos give a path.

    A body is read as JSON whatever its Content-Type says, so that `curl -d` works as it is. A web page of another site
    gains nothing by that: the token is in a header that no browser sends by itself.
    """

    def __init__(self, calls: Calls, *, max_body_bytes: int, receive_s: float, trusted_proxies: int) -> None:
        calls.expect(_FRONT)
        self._calls = calls
        self._routes = Routes(calls.services)
        self._max_body_bytes, self._receive_s = max_body_bytes, receive_s
        self._proxies = trusted_proxies

    @property
    def verbs(self) -> frozenset[str]:
        """The verbs of HTTP that some method takes."""
        return self._routes.verbs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request. A web socket is refused."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        headers = _Headers(scope)
        call_id = call_id_of(headers.every("x-request-id"))
        about = [(b"x-request-id", call_id.encode())]
        try:
            with _accounted(_UNKNOWN, call_id):
                route, captured = self._routes.match(scope["method"], _raw_path(scope))
            with _accounted(route.method.full_name, call_id):
                caller = caller_of(headers.every, call_id, _FRONT, _peer(scope), self._proxies)
                body = await self._body(headers, receive) if route.body else b""
                request = transcode(route, captured, scope["query_string"], body)
                last_event_id = headers.last("last-event-id")
                resume(request, last_event_id)
            with _named(route):
                if route.method.server_streaming:
                    answers = self._calls.stream(route.method, request, caller)
                    await sse.serve(answers, about, receive, send, resumed=bool(last_event_id))
                else:
                    with _cut_off():
                        answer = await self._answer(route.method, request, caller, receive)
                    await send_json(send, to_json(answer), about)
        except ApiError as error:
            await send_error(send, error, about)
        except _Gone:
            return

    async def _answer(self, method: MethodDescriptor, request: Message, caller: Caller, receive: Receive) -> Message:
        """The answer to a unary call. One that may wait is given up with its client; any other is done to its end."""
        if "wait" not in method.input_type.fields_by_name:
            return await self._calls.unary(method, request, caller)
        async with until_gone(receive):
            return await self._calls.unary(method, request, caller)
        raise _Gone

    async def _body(self, headers: "_Headers", receive: Receive) -> bytes:
        """The whole body. Raises ApiError where it is too large, or compressed, or does not come in time."""
        if headers.last("content-encoding") not in {"", "identity"}:
            raise encoded()
        try:
            async with self._calls.arriving(self._receive_s):
                return await self._parts(receive)
        except TimeoutError:
            raise too_slow(self._receive_s) from None

    async def _parts(self, receive: Receive) -> bytes:
        body = b""
        more = True
        while more:
            part = await receive()
            if part["type"] == "http.disconnect":
                raise _Gone
            body += part.get("body", b"")
            if len(body) > self._max_body_bytes:
                raise too_large(self._max_body_bytes)
            more = part.get("more_body", False)
        return body


class _Gone(Exception):
    """The client went away before it had sent its request, or while it waited for the answer."""


class _Headers:
    """The headers of a request, by their names in lower case."""

    def __init__(self, scope: Scope) -> None:
        self._raw: list[tuple[bytes, bytes]] = list(scope["headers"])

    def every(self, name: str) -> list[str]:
        """Every value of a header, in the order in which they came."""
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._raw if key == wanted]

    def last(self, name: str) -> str:
        """The last value of a header; empty where there is none."""
        return (self.every(name) or [""])[-1]


def _peer(scope: Scope) -> str:
    """The address at the other end."""
    client: tuple[str, int] | None = scope.get("client")
    return client[0] if client else ""


def _raw_path(scope: Scope) -> str:
    """The path as it was sent, percent-encoded."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]) if raw is None else raw.decode("ascii", "surrogateescape")


@contextmanager
def _named(route: Route) -> Iterator[None]:
    """Names what a call finds wrong with its request by the names that the caller knows."""
    try:
        yield
    except ApiError as error:
        raise (error.renamed(name_in(route)) if error.violations else error) from error


@contextmanager
def _cut_off() -> Iterator[None]:
    """Tells the client of a call that outlasts the server why it has no answer: the server cancels it as it ends."""
    try:
        yield
    except asyncio.CancelledError:
        raise draining() from None


@contextmanager
def _accounted(method: str, call_id: str) -> Iterator[None]:
    """Accounts for a call that cannot be read, since it never gets to `Calls`."""
    try:
        yield
    except ApiError as error:
        with account.recorded(method, _FRONT, call_id) as call:
            call.failed(error.code_name, error.reason)
        raise
