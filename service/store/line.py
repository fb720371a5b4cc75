"""A line: one connection to one node, on which all channels are heard that this process follows there.

One task reads and one writes, and nobody else touches the connection. Whatever goes wrong ends the session and begins
another, on which every channel is subscribed to again; what was missed in between is the listener's to find out.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol, cast

import structlog
from redis.asyncio.connection import AbstractConnection

from service.observability.background import survived
from service.store.backoff import Backoff, cancelled
from service.store.errors import StoreUnavailable
from service.store.link import Link

__all__ = ["Line", "Listener"]

PING_S: Final = 5.0
"""A line is asked for a sign of life this often, and is lost when it has been silent for twice as long."""

_log: Final = structlog.get_logger(__name__)


class Listener(Protocol):
    """Who hears what comes in. The calls come from the line's own task, one at a time."""

    def subscribed(self, channel: str) -> None:
        """From now on the channel is heard. It may be told more than once."""

    def heard(self, channel: str, data: bytes) -> None:
        """A message on the channel."""

    def lost(self, line: "Line") -> None:
        """The session has ended, and another is about to begin: now channels may be taken to another line."""


class Line:
    """The channels followed on one node. It connects at once, and lives until it is told to hang up."""

    def __init__(self, link: Link, node: str, listener: Listener) -> None:
        self.node = node
        self.channels: set[str] = set()
        self._link = link
        self._listener = listener
        self._outbox: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()
        self._leaving: Counter[str] = Counter()
        self._backoff = Backoff()
        self._up: bool | None = None
        self._task = asyncio.create_task(self._run(), name=f"line-{node}")

    def add(self, channel: str) -> None:
        """Follows a channel; the listener is told when it is."""
        self.channels.add(channel)
        self._outbox.put_nowait(("SSUBSCRIBE", channel))

    def remove(self, channel: str) -> None:
        """Follows a channel no longer."""
        self.channels.discard(channel)
        self._leaving[channel] += 1
        self._outbox.put_nowait(("SUNSUBSCRIBE", channel))

    def hang_up(self) -> asyncio.Task[None]:
        """Follows nothing any more; the connection is closed when the task that is given has ended."""
        self._task.cancel()
        return self._task

    async def _run(self) -> None:
        while not cancelled():
            try:
                await self._session(self._link.connection(self.node))
            except Exception as error:  # noqa: BLE001  redis-py and the event loop raise what nobody has written down
                self._report(error)
            await self._backoff.pause()
            with survived("feed"), suppress(StoreUnavailable):
                await self._link.refresh()
                self._listener.lost(self)

    def _report(self, error: Exception) -> None:
        """Logs the loss of a line once, not each attempt to have it back."""
        if self._up is not False:
            text = str(error) or type(error).__name__
            _log.warning("feed_line_lost", node=self.node, channels=len(self.channels), error=text)
        self._up = False

    async def _session(self, connection: AbstractConnection) -> None:
        """Follows all channels on this connection until it is lost, or serves one of them no more: either raises."""
        try:
            await cast(Callable[[], Awaitable[None]], connection.connect)()
            if cancelled():
                return
            self._outbox = asyncio.Queue()
            self._leaving.clear()
            for channel in self.channels:
                self._outbox.put_nowait(("SSUBSCRIBE", channel))
            writer = asyncio.create_task(self._write(connection, self._outbox), name=f"line-writer-{self.node}")
            try:
                await self._read(connection)
            finally:
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)  # what it met has ended the reading, too
        finally:
            await connection.disconnect(nowait=True)

    async def _write(self, connection: AbstractConnection, outbox: asyncio.Queue[tuple[str, ...]]) -> None:
        """Sends what is in the outbox, or pings. A failure closes the connection, which ends reading as well."""
        while not cancelled():
            try:
                async with asyncio.timeout(PING_S):
                    command = await outbox.get()
            except TimeoutError:
                command = ("PING",)
            await connection.send_command(*command)

    async def _read(self, connection: AbstractConnection) -> None:
        while not cancelled():
            message = await connection.read_response(timeout=2 * PING_S, disconnect_on_error=False)
            if message is None:
                raise _Stale("no sign of life")
            kind, channel, data = _parts(message)
            if kind == b"smessage":
                self._listener.heard(channel, data)
            elif kind == b"ssubscribe":
                self._confirmed()
                if channel in self.channels:
                    self._listener.subscribed(channel)
            elif kind == b"sunsubscribe":
                self._left(channel)

    def _confirmed(self) -> None:
        """The line works."""
        if self._up is False:
            _log.info("feed_line_back", node=self.node, channels=len(self.channels))
        self._up = True
        self._backoff.reset()

    def _left(self, channel: str) -> None:
        """The node has ended a subscription: because it was asked to, or because the slot is served elsewhere now."""
        if self._leaving[channel]:
            self._leaving[channel] -= 1
        elif channel in self.channels:
            raise _Stale("the slot of a channel has moved")
        if not self._leaving[channel]:
            del self._leaving[channel]


class _Stale(Exception):
    """The session is of no more use, though the connection stands."""


def _parts(message: object) -> tuple[bytes, str, bytes]:
    """Kind, channel and data of what a subscribed connection receives; a pong has no channel."""
    if not isinstance(message, list):
        return b"pong", "", b""
    kind, channel, data = cast(list[bytes], message) if len(message) == 3 else (b"pong", b"", b"")
    return kind, channel.decode(), data
