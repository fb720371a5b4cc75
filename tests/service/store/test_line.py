"""A line: a subscription that the node ends by itself is noticed; one that it was asked to end is no loss."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio.connection import AbstractConnection
from structlog.testing import capture_logs

from service.observability import metrics
from service.store.address import open_link
from service.store.line import Line
from tests.patience import patient


class Node:
    """A node that does what it is told, and what the test tells it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sessions = 0
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sessions += 1
        self._writer = writer
        while data := await reader.read(65536):
            words = data.decode().split("\r\n")
            writer.write(b"+OK\r\n" * words.count("SETINFO"))
            for place, word in enumerate(words):
                if word in ("SSUBSCRIBE", "SUNSUBSCRIBE"):
                    self.tell(word.lower(), words[place + 2])
                    self.heard.put_nowait(f"{word} {words[place + 2]}")
        writer.close()

    def tell(self, kind: str, channel: str) -> None:
        """Say that a subscription has begun or ended."""
        assert self._writer is not None
        parts = f"*3\r\n${len(kind)}\r\n{kind}\r\n${len(channel)}\r\n{channel}\r\n:1\r\n"
        self._writer.write(parts.encode())

    def hang_up(self) -> None:
        """End the session."""
        assert self._writer is not None
        self._writer.close()

    async def hears(self, *commands: str) -> None:
        """These commands come next, in any order."""
        async with asyncio.timeout(60):
            assert {await self.heard.get() for _ in commands} == set(commands)


class Silent:
    """A listener that does nothing; it takes a channel off and on while there is no session, when it is told to."""

    def __init__(self) -> None:
        self.again = ""

    def subscribed(self, channel: str) -> None:
        """Nothing to do."""

    def heard(self, channel: str, data: bytes) -> None:
        """Nothing to do."""

    def lost(self, line: Line) -> None:
        """Between two sessions."""
        if self.again:
            line.remove(self.again)
            line.add(self.again)
            self.again = ""


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    """A node that is up."""
    node = Node(f"unix://{tmp_path / 'node.sock'}")
    async with await asyncio.start_unix_server(node.serve, tmp_path / "node.sock"):
        yield node


@pytest.fixture
async def listener() -> Silent:
    """Who listens on the line."""
    return Silent()


@pytest.fixture
async def line(node: Node, listener: Silent) -> AsyncIterator[Line]:
    """A line to the node, on which channel a is followed."""
    link = open_link(node.url, patient().link)
    line = Line(link, "server", listener)
    line.add("a")
    await node.hears("SSUBSCRIBE a")
    yield line
    await asyncio.wait([line.hang_up()])
    await link.close()


async def test_a_subscription_that_the_node_ends_begins_another_session(line: Line, node: Node) -> None:
    """Where the node drops a channel that is followed, all channels are subscribed to again."""
    node.tell("sunsubscribe", "a")
    await node.hears("SSUBSCRIBE a")
    assert node.sessions == 2


async def test_a_subscription_that_was_ended_is_no_loss(line: Line, node: Node) -> None:
    """A channel that was left and joined again stays on its session, and its later loss is still noticed."""
    line.remove("a")
    line.add("a")
    await node.hears("SUNSUBSCRIBE a", "SSUBSCRIBE a")
    line.add("b")
    await node.hears("SSUBSCRIBE b")
    assert node.sessions == 1
    node.tell("sunsubscribe", "a")
    await node.hears("SSUBSCRIBE a", "SSUBSCRIBE b")
    assert node.sessions == 2


async def test_whatever_ends_a_session_another_begins(line: Line, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody has foreseen, raised under the line by the event loop or redis-py, ends no more than a session."""
    connection, faults = line._link.connection, iter([RuntimeError("unable to perform operation"), KeyError("fileno")])

    def failing(name: str) -> AbstractConnection:
        for fault in faults:
            raise fault
        return connection(name)

    monkeypatch.setattr(line._link, "connection", failing)
    node.hang_up()
    await node.hears("SSUBSCRIBE a")
    assert (node.sessions, next(faults, None)) == (2, None)


async def test_a_fault_between_sessions_is_no_end_of_them(
    line: Line, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody has foreseen, raised where a line learns who serves what, is logged and counted; a session begins."""
    counted, faults = metrics.background_faults.labels("feed")._value, [ZeroDivisionError()]
    before = counted.get()

    async def failing() -> None:
        while faults:
            raise faults.pop()

    monkeypatch.setattr(line._link, "refresh", failing)
    with capture_logs() as lines:
        node.hang_up()
        await node.hears("SSUBSCRIBE a")
    assert [line["work"] for line in lines if line["event"] == "background_fault"] == ["feed"]
    assert counted.get() == before + 1


async def test_what_happens_between_sessions_does_not_hide_a_loss(line: Line, node: Node, listener: Silent) -> None:
    """A channel that was left and joined again between two sessions is subscribed to once, and its loss noticed."""
    listener.again = "a"
    node.hang_up()
    await node.hears("SSUBSCRIBE a")
    node.tell("sunsubscribe", "a")
    await node.hears("SSUBSCRIBE a")
    assert node.sessions == 3
