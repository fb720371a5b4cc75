"""Server streams as server-sent events, one a message.

    id: EPOCH.VERSION.MARK    where the message has an id (`cursor`)
    event: snapshot           the name of the field of its oneof that is set
    data: {"snapshot": …}     the message as JSON

What fails before the first message is a plain HTTP error; what fails later is an event `failure` with the same
body, not `error`: by that name a browser's EventSource tells that it has lost its connection. A stream that ends well
ends with an event `end`. A client that resumed with `Last-Event-ID` when nothing was left to tell
gets 204, which makes a browser stop coming back.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from google.protobuf.message import Message
from starlette.types import Receive, Send

from service.api.errors import ApiError
from service.api.rest.answers import COMMON, Headers, error_body
from service.api.rest.cursor import id_of
from service.api.rest.presence import until_gone
from service.api.rest.to_json import to_json

__all__ = ["CONTENT_TYPE", "END", "FAILURE", "serve"]

CONTENT_TYPE: Final = "text/event-stream"

FAILURE: Final = "failure"
END: Final = "end"
"""The names of the events that end a stream."""

_RETRY: Final = b"retry: 1000\n\n"
"""Begins every stream: a browser that lost it comes back after a second."""

_QUIET_S: Final = 0.5
"""How long the first message may take before the client is told that the stream is open."""


async def serve(
    answers: AsyncGenerator[Message], headers: Headers, receive: Receive, send: Send, *, resumed: bool
) -> None:
    """Sends each message as it comes, until the last, an error, or the client's going away, which ends `answers`.

    Raises ApiError where `answers` does before anything was sent.
    """
    async with until_gone(receive), aclosing(answers):
        response = _Response(headers, send)
        try:
            message = await _first(answers, response)
            if message is None and resumed and not response.begun:
                await response.nothing()
                return
            while message is not None:
                await response.event(_name_of(message), to_json(message), id_of(message))
                message = await anext(answers, None)
        except ApiError as error:
            if not response.begun:
                raise
            await response.event(FAILURE, error_body(error))
        else:
            await response.event(END, b"{}")
        await response.end()


class _Response:
    """The HTTP response: it begins with the first thing that is sent."""

    def __init__(self, headers: Headers, send: Send) -> None:
        self.begun = False
        self._headers = headers
        self._send = send

    async def begin(self) -> None:
        """Tells the client that the stream is open, once."""
        if not self.begun:
            await self._start(200, (b"content-type", CONTENT_TYPE.encode()), (b"x-accel-buffering", b"no"))
            await self._send({"type": "http.response.body", "body": _RETRY, "more_body": True})

    async def event(self, name: str, data: bytes, event_id: str | None = None) -> None:
        """Sends one event; `data` has no line break, as JSON on one line has none."""
        await self.begin()
        head = f"id: {event_id}\nevent: {name}\ndata: " if event_id else f"event: {name}\ndata: "
        await self._send({"type": "http.response.body", "body": head.encode() + data + b"\n\n", "more_body": True})

    async def nothing(self) -> None:
        """Answers 204: there will never be another event."""
        await self._start(204)
        await self.end()

    async def end(self) -> None:
        """Ends the response."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, status: int, *about: tuple[bytes, bytes]) -> None:
        self.begun = True
        headers = [*about, *COMMON, *self._headers]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


async def _first(answers: AsyncGenerator[Message], response: _Response) -> Message | None:
    """The first message, None where there is none. Where it takes its time, the response begins without it."""

    async def step() -> Message | None:
        return await anext(answers, None)

    first = asyncio.create_task(step())
    try:
        await asyncio.wait({first}, timeout=_QUIET_S)
        if not first.done():
            await response.begin()
        return await first
    finally:
        if not first.done():
            first.cancel()
            await asyncio.wait({first})


def _name_of(message: Message) -> str:
    """The event's name: which field of the message's oneof is set."""
    groups = message.DESCRIPTOR.oneofs
    return message.WhichOneof(groups[0].name) or "message" if groups else "message"
