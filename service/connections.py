"""The connections of an HTTP server: how long a client may keep one waiting, how many there may be, what is read.

    uvicorn.Config(app, http=http_of(Patience(receive_s=20, send_s=30, most=most_connections())))

A connection is hung up on whose client sends nothing, or not all of a request's head, or takes nothing of what it is
sent: what it has not taken is kept for it until then. Where there are as many connections as there may be, a newcomer
takes the place of the one that has been without a request for longest; so those who hold connections for their own sake
are in each other's way alone. What is no HTTP, or has too long a head, never gets to the application: it is refused
here, and the connection ends. How long a request's body may be, and may take, is the application's affair.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias

import structlog
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service import descriptors

__all__ = ["MOST_HEAD_BYTES", "Patience", "Refuse", "http_of", "most_connections", "refuse_plainly"]

MOST_HEAD_BYTES: Final = 32 * 1024
"""Of a request's line and headers together."""

Refuse: TypeAlias = Callable[[HTTPStatus], bytes]
"""Gives the whole answer to what cannot be read: 400, it is no HTTP, or 431, its head is too long."""

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """What is borne with: in seconds, and `most` connections at the same time."""

    receive_s: float
    send_s: float
    most: int


def most_connections() -> int:
    """How many connections this process may have: half as many as descriptors."""
    return descriptors.limit() // 2


def refuse_plainly(status: HTTPStatus) -> bytes:
    """An answer that says no more than its status."""
    return f"HTTP/1.1 {status} {status.phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()


def http_of(patience: Patience, refuse: Refuse = refuse_plainly) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP with so much patience; for one server."""
    waiting = _Waiting(patience.most)

    class Http(_Http):
        pass

    Http.patience, Http.waiting, Http.refuse = patience, waiting, staticmethod(refuse)
    return Http


class _Waiting:
    """The connections without a request under way, of which who waits longest comes first."""

    def __init__(self, most: int) -> None:
        self._most, self._told = most, False
        self._places: dict[_Http, None] = {}

    def put(self, connection: "_Http") -> None:
        """It waits from now on."""
        self._places[connection] = None

    def drop(self, connection: "_Http") -> None:
        """It does not wait any more."""
        self._places.pop(connection, None)

    def make_room(self, there_are: int, newcomer: "_Http") -> bool:
        """Whether there is room for the newcomer, which ends at once where all have requests under way."""
        if there_are <= self._most:
            return True
        if not self._told:
            self._told = True
            _log.warning("connections_full", most=self._most, why="half as many as the limit of descriptors")
        given_up = next(iter(self._places), newcomer)
        self.drop(given_up)
        given_up.transport.abort()
        return given_up is not newcomer


class _Http(HttpToolsProtocol):
    patience: Patience
    waiting: _Waiting
    refuse: Refuse
    answered: RequestResponseCycle | None = None
    """The request that is answered now. Of several that came at once uvicorn knows the last."""
    in_a_message = False
    nothing_sent: asyncio.TimerHandle | None = None
    nothing_taken: asyncio.TimerHandle | None = None
    head_bytes = 0
    """Of the head that comes, or came last."""
    unread_bytes = 0
    """Bytes that are part of nothing yet: of a header, say, that has no end so far."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.waiting.make_room(len(self.connections), self):
            self._look()

    def data_received(self, data: bytes) -> None:
        self.unread_bytes += len(data)
        super().data_received(data)
        if self.unread_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        self._look()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's own words
        too_long = self.head_bytes > MOST_HEAD_BYTES
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_long else HTTPStatus.BAD_REQUEST)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.in_a_message, self.head_bytes, self.unread_bytes = True, 0, 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self.unread_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.in_a_message, self.unread_bytes = False, 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.answered = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.nothing_taken = _later(self.patience.send_s, self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.nothing_taken = _never(self.nothing_taken)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.answered is not None and not self.answered.response_complete:
            self.answered.disconnected = True
            self.answered.message_event.set()
        self.waiting.drop(self)
        self.nothing_sent = _never(self.nothing_sent)
        self.nothing_taken = _never(self.nothing_taken)

    def _count(self, length: int) -> None:
        """Counts a part of the head. What is raised here has the parser give up, and uvicorn send a 400."""
        self.unread_bytes = 0
        self.head_bytes += length
        if self.head_bytes > MOST_HEAD_BYTES:
            raise ValueError("the head of the request is too long")

    def _refuse(self, status: HTTPStatus) -> None:
        self.transport.write(self.refuse(status))
        self.transport.close()

    def _look(self) -> None:
        """Gives the client his time, while there is no request under way and uvicorn gives him none."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.waiting.drop(self)
            self.nothing_sent = _never(self.nothing_sent)
            return
        self.waiting.put(self)
        if not self.in_a_message and self.timeout_keep_alive_task is not None:
            self.nothing_sent = _never(self.nothing_sent)
        elif self.nothing_sent is None:
            self.nothing_sent = _later(self.patience.receive_s, self.transport)


def _later(seconds: float, transport: asyncio.Transport) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, transport.abort)


def _never(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Calls it off; gives what is left of it."""
    if timer is not None:
        timer.cancel()
    return None
