"""An ASGI application on a port of its own, served by uvicorn on the loop that runs already.

A client that takes nothing of what it is sent is hung up on: what it has not taken is kept for it until then.
"""

import asyncio
import math
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["HttpServer", "listen", "reserve"]

KEEP_ALIVE_SECONDS: Final = 75
"""How long an idle connection is kept: longer than the minute that proxies keep theirs, so that they close first."""


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens on `host:port` (port 0: any free one). Raises OSError where it cannot.

    With `shared` other processes may listen there, too; each new connection goes to one of them.
    """
    family, address = _resolved(host, port)
    return socket.create_server(address, family=family, backlog=2048, reuse_port=shared)


def reserve(host: str, port: int) -> socket.socket:
    """A socket that holds a port for processes to share, and takes no connection itself. Raises OSError as `listen`."""
    with listen(host, port) as first:  # nobody else may be there
        port = first.getsockname()[1]
    family, address = _resolved(host, port)
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(address)
    return held


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, (str(address[0]), int(address[1]))


class HttpServer:
    """A server that runs until `stop`; with `tls`, of HTTPS. `port` is where it listens; `task` ends with it.

    `send_seconds`: a connection ends when the client has left so much unread, for so long, that no more can be sent.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        grace_seconds: float,
        send_seconds: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.port: Final[int] = listener.getsockname()[1]
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_patient_for(send_seconds),
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=math.ceil(grace_seconds),
                ssl_context_factory=(lambda _config, _default: tls) if tls else None,
            )
        )
        self.task: Final = asyncio.create_task(self._server.serve([listener]))

    async def stop(self) -> None:
        """Takes no new connections, and ends once the requests under way have; they are cancelled after the grace."""
        self._server.should_exit = True
        await self.task


def _patient_for(send_seconds: float) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP, which waits for room to send for so long at most."""

    class Http(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # a class, found out when uvicorn is imported
        transport: asyncio.Transport
        hang_up: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self.hang_up = asyncio.get_running_loop().call_later(send_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._no_longer()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._no_longer()

        def _no_longer(self) -> None:
            if self.hang_up is not None:
                self.hang_up.cancel()

    return Http


class _Server(uvicorn.Server):
    """Uvicorn, without its own handling of signals: the process's are the composition root's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
