"""An ASGI application on a port of its own, served by uvicorn on the loop that runs already."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.connections import Patience, Refuse, http_of, most_connections, refuse_plainly

__all__ = ["HttpServer", "listen", "reserve"]

KEEP_ALIVE_S: Final = 75
"""How long an idle connection is kept: longer than the minute that proxies keep theirs, so that they close first."""

_LAST_S: Final = 0.2
"""What is left to requests that outlast the grace, to tell their clients so."""


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

    A connection ends when for `receive_s` the client has not sent the whole head of a request, or when it has
    left so much unread, for `send_s`, that no more can be sent.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        receive_s: float,
        send_s: float,
        refuse: Refuse = refuse_plainly,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.port: Final[int] = listener.getsockname()[1]
        self._server = _Server(
            uvicorn.Config(
                app,
                http=http_of(Patience(receive_s, send_s, most_connections()), refuse),
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                ssl_context_factory=(lambda _config, _default: tls) if tls else None,
            )
        )
        self.task: Final = asyncio.create_task(self._server.serve([listener]))

    async def stop(self, grace_s: float) -> None:
        """Takes no new connections, and ends once the requests under way have; they are cancelled after the grace."""
        self._server.should_exit = True
        await asyncio.wait([self.task], timeout=grace_s)
        tasks, connections = self._server.server_state.tasks, self._server.server_state.connections
        deaf = [each for each in connections if isinstance(each, HttpToolsProtocol) and each.flow.write_paused]
        for each in deaf:  # its client takes nothing: there is no telling it anything
            each.transport.abort()
        if deaf:
            await _ended(tasks)
        for task in tasks:
            task.cancel()
        await _ended(tasks)
        for connection in list(connections):
            connection.transport.abort()
        await self.task


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Gives tasks that have been told to end the moment that they need."""
    if tasks:
        await asyncio.wait(tasks, timeout=_LAST_S)


class _Server(uvicorn.Server):
    """Uvicorn, without its own handling of signals: the process's are the composition root's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
