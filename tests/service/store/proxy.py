"""A network between a store and its server that counts, and fails on demand."""

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self


class Proxy:
    """What connects to `url` reaches the server at `target` (both `unix://…`), for as long as nothing is to fail."""

    def __init__(self, target: str, folder: Path) -> None:
        self.url = f"unix://{folder / 'proxy.sock'}"
        self.round_trips = 0
        """Times that something was sent and answered, over all connections."""
        self.cuts = 0
        """So many answers to come are lost, each with its connection: the server has done what it was asked for."""
        self.silent = False
        """Whether nothing gets through any more, though every connection stands."""
        self.swallowed = 0
        """Times that something was sent while nothing got through."""
        self._target = target.removeprefix("unix://")
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()

    def break_all(self) -> None:
        """Breaks every connection, without a word to either end."""
        for end in self._ends:
            end.transport.abort()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self.url.removeprefix("unix://"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        up_reader, up_writer = await asyncio.open_unix_connection(self._target)
        asked = asyncio.Event()
        self._ends.add(writer)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests(reader, up_writer, asked))
                group.create_task(self._answers(up_reader, writer, asked))
        except* (ConnectionError, RuntimeError):  # uvloop raises the latter where an end is closed
            pass
        finally:
            self._ends.discard(writer)
            for end in (writer, up_writer):
                end.close()
                with contextlib.suppress(ConnectionError):
                    await end.wait_closed()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while data := await reader.read(65536):
            if self.silent:
                self.swallowed += 1
            else:
                asked.set()
                writer.write(data)
        raise ConnectionResetError

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while data := await reader.read(65536):
            if asked.is_set():
                asked.clear()
                self.round_trips += 1
            if self.cuts:
                self.cuts -= 1
                break
            if not self.silent:
                writer.write(data)
        raise ConnectionResetError
