"""The HTTP server, and clients that do not take what it sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from service.http_server import HttpServer, listen

PART = b"x" * 20_000
SEND_S = 0.3


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
    server = HttpServer(app, listen("127.0.0.1", 0), grace_seconds=0, send_seconds=SEND_S)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    try:
        yield reader
    finally:
        writer.close()
        await server.stop()


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
