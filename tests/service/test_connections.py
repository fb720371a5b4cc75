"""The connections of an HTTP server, whose clients do not send or take what they should, or are too many."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TypeAlias

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from service import connections
from service.http_server import HttpServer, listen

PART = b"x" * 20_000
SEND_S = RECEIVE_S = 0.3
ENOUGH_S = 2.0
"""For a client that sends what it should, on a machine however busy."""
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def hello(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that answers at once."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


class Slow:
    """An application that answers when it is told to, and knows which of its clients are gone."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.begun.set()
        if scope["path"] == "/wait":
            assert (await receive())["type"] == "http.disconnect"
            self.gone.set()
        else:
            await self.go_on.wait()
        await hello(scope, receive, send)


class Endless:
    """An application whose answer never ends, until its client is gone."""

    def __init__(self) -> None:
        self.sent = 0
        self.gone = asyncio.Event()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        left = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not left.done():
            await send({"type": "http.response.body", "body": PART, "more_body": True})
            self.sent += len(PART)
            await asyncio.sleep(0)
        assert left.result()["type"] == "http.disconnect"
        self.gone.set()


@asynccontextmanager
async def asked(app: Endless) -> AsyncIterator[asyncio.StreamReader]:
    """What a client of the application's server may read, once it has asked; it reads nothing ahead."""
    async with serving(app, send_s=SEND_S) as server, connected(server, limit=1) as (reader, writer):
        writer.write(GET)
        yield reader


@asynccontextmanager
async def serving(app: ASGIApp, *, receive_s: float = 60, send_s: float = 60) -> AsyncIterator[HttpServer]:
    """A server of the application."""
    server = HttpServer(app, listen("127.0.0.1", 0), receive_s=receive_s, send_s=send_s)
    try:
        yield server
    finally:
        await server.stop(0)


@asynccontextmanager
async def connected(server: HttpServer, limit: int = 65_536) -> AsyncIterator[Connection]:
    """A connection to a server."""
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=limit)
        try:
            yield reader, writer
        finally:
            writer.close()


async def test_a_client_that_reads_nothing_is_hung_up_on() -> None:
    """Where so much is unread that no more can be sent, the connection ends in time, and the application is told."""
    app = Endless()
    async with asked(app) as reader, asyncio.timeout(60):
        await app.gone.wait()
        assert not (await reader.read()).endswith(b"0\r\n\r\n")  # what was on its way; the answer has no end


async def test_a_client_that_reads_on_is_served_on() -> None:
    """A client that reads, however long it takes over it all, is not hung up on."""
    app = Endless()
    loop = asyncio.get_running_loop()
    async with asked(app) as reader, asyncio.timeout(60):
        end = loop.time() + 4 * SEND_S
        while loop.time() < end:
            assert await reader.read(1 << 20)
        assert not app.gone.is_set()
    assert app.sent > 10 * len(PART)


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", GET[:-2], GET + GET[:-2]], ids=["nothing", "a verb", "half", "more"]
)
async def test_a_client_that_sends_no_whole_request_is_hung_up_on(sent: bytes) -> None:
    """Where no request is under way, and none comes whole, the connection ends in time."""
    async with serving(hello, receive_s=RECEIVE_S) as server, connected(server) as (reader, writer):
        writer.write(sent)
        answers = await all_of(reader)
        assert answers.count(b"hello") == sent.count(GET)


async def test_a_body_that_nobody_waits_for_has_its_time() -> None:
    """What is left of a request that was answered before it had come whole has so long, too; then the next may come."""
    async with serving(hello, receive_s=ENOUGH_S) as server, connected(server) as (reader, writer):
        writer.write(GET[:-2] + b"content-length: 2\r\n\r\nx")
        await reader.readuntil(b"hello")
        writer.write(b"x" + GET)
        await reader.readuntil(b"hello")
        writer.write(GET[:-2] + b"content-length: 100\r\n\r\nx")
        assert (await all_of(reader)).count(b"hello") == 1


async def test_a_client_that_sends_byte_after_byte_is_hung_up_on() -> None:
    """The head of a request has its time as a whole, however often a byte of it comes."""
    async with serving(hello, receive_s=RECEIVE_S) as server, connected(server) as (reader, writer):
        end = asyncio.ensure_future(all_of(reader))
        writer.write(b"GET / HTTP/1.1\r\nx: ")
        while not end.done():
            writer.write(b"x")
            await asyncio.sleep(RECEIVE_S / 10)
        assert end.result() == b""


LONG = b"x" * 40_000
POST = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"GET /" + LONG + GET[5:], GET[:-2] + b"x: " + LONG + b"\r\n\r\n", GET[:-2] + b"x: y\r\n" * 10_000 + b"\r\n"],
    ids=["path", "header", "headers"],
)
@pytest.mark.parametrize("size", [100_000, 1000], ids=["at once", "in parts"])
async def test_a_head_that_is_too_long_is_refused(sent: bytes, size: int) -> None:
    """A request's line and headers are bounded, each and together; the connection ends with the answer."""
    async with serving(hello) as server, connected(server) as (reader, writer):
        answer = asyncio.ensure_future(all_of(reader))
        await trickle(writer, sent, size)
        assert (await answer).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "sent",
    [GET[:-2] + b"x: ", GET[:-2], b"GET /", POST + b"0\r\nx: ", POST + b"1;x="],
    ids=["header", "name", "path", "trailer", "extension"],
)
async def test_what_never_ends_is_refused(sent: bytes) -> None:
    """No part of a request that is to be kept until its end can be longer, before the body or after it."""
    async with serving(hello) as server, connected(server) as (reader, writer):
        answer = asyncio.ensure_future(all_of(reader))
        await trickle(writer, sent + LONG + LONG, 8000)
        assert b"HTTP/1.1 431 " in await answer


async def trickle(writer: asyncio.StreamWriter, sent: bytes, size: int) -> None:
    """Sends it in parts of so many bytes, as long as the other end is there."""
    for start in range(0, len(sent), size):
        writer.write(sent[start : start + size])
        with suppress(ConnectionError):
            await writer.drain()
        await asyncio.sleep(0)


async def test_many_requests_with_long_heads_are_read() -> None:
    """The bound is for each request, however many come at once and wherever one is cut in two."""
    almost = GET[:-2] + b"x: " + b"x" * 31_000 + b"\r\n\r\n"
    async with serving(hello) as server, connected(server) as (reader, writer):
        sent = almost * 20
        for start in range(0, len(sent), 7_001):
            writer.write(sent[start : start + 7_001])
            await writer.drain()
        for _ in range(20):
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")


async def test_what_is_no_http_is_refused() -> None:
    """The answer says no more than that, and the connection ends."""
    async with serving(hello) as server, connected(server) as (reader, writer):
        writer.write(b"hello, server\r\n\r\n")
        assert (await all_of(reader)).startswith(b"HTTP/1.1 400 ")


async def test_a_request_under_way_has_its_time() -> None:
    """A request that came whole is waited for, and the connection is kept for the next one afterwards."""
    app = Slow()
    async with serving(app, receive_s=ENOUGH_S) as server, connected(server) as (reader, writer):
        writer.write(GET)
        await asyncio.sleep(1.5 * ENOUGH_S)
        app.go_on.set()
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(1.5 * ENOUGH_S)
        writer.write(GET)
        assert (await reader.readuntil(b"hello")).endswith(b"hello")


async def test_of_too_many_connections_those_without_a_request_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer takes the place of who has been without a request for longest, and is served."""
    monkeypatch.setattr("service.http_server.most_connections", lambda: 3)
    app = Slow()
    async with serving(app) as server, AsyncExitStack() as stack:
        busy, idle, idler = [await stack.enter_async_context(connected(server)) for _ in range(3)]
        busy[1].write(GET)
        await app.begun.wait()
        newcomers = [await stack.enter_async_context(connected(server)) for _ in range(2)]
        for reader, _ in (idle, idler):
            assert await all_of(reader) == b""
        app.go_on.set()
        assert (await busy[0].readuntil(b"hello")).endswith(b"hello")
        for reader, writer in newcomers:
            writer.write(GET)
            assert (await reader.readuntil(b"hello")).endswith(b"hello")


async def test_where_all_have_requests_a_newcomer_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a request under way keeps his place, as long as it is."""
    monkeypatch.setattr("service.http_server.most_connections", lambda: 1)
    app = Slow()
    async with serving(app) as server, connected(server) as (reader, writer):
        writer.write(GET)
        await app.begun.wait()
        async with connected(server) as (newcomer, _):
            assert await all_of(newcomer) == b""
        app.go_on.set()
        assert (await reader.readuntil(b"hello")).endswith(b"hello")
        async with connected(server) as (newcomer, asking):
            asking.write(GET)
            assert (await newcomer.readuntil(b"hello")).endswith(b"hello")


async def test_a_client_with_several_requests_at_once_may_go_away() -> None:
    """Each of them is told that its client is gone, the first as well as those that wait for it."""
    app = Slow()
    async with serving(app) as server:
        async with connected(server) as (_, writer):
            writer.write(GET.replace(b"/", b"/wait", 1) + GET)
            await app.begun.wait()
        async with asyncio.timeout(60):
            await app.gone.wait()


def test_half_of_the_descriptors_are_for_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has half as many connections as descriptors, and takes none of these when it is asked."""
    for soft, most in ((300, 150), (100_000, 50_000), (resource.RLIM_INFINITY, 32_768)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, now=soft: (now, resource.RLIM_INFINITY))
        monkeypatch.setattr(resource, "setrlimit", None)
        assert connections.most_connections() == most


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """All that comes before the server hangs up, however it does."""
    data = b""
    with suppress(ConnectionError):
        while part := await reader.read(65_536):
            data += part
    return data
