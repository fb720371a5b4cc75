"""A player's way to the server that is measured: gRPC over a connection of its own, or REST with server-sent events.

connection = connect(server, "rest")
await connection.api.act(request, token)
"""

import ssl
import sys
from typing import Final, Literal, Protocol, TypeAlias

import grpc
import httpx
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.load.server import Server
from clients.api import Api, CallError
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi

__all__ = ["FRONTS", "Connection", "Front", "connect"]

Front: TypeAlias = Literal["grpc", "rest"]
FRONTS: Final[tuple[Front, ...]] = ("grpc", "rest")
_TIMEOUT_S: Final = 30.0
"""Longer than any call should take under load; what takes longer is an error."""
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # httpx looks for it in every call, which takes as long
# as the call does where it is not installed; so that is settled
_TLS: Final = ssl.create_default_context()
"""One for all: each takes longer to make than a call."""


class Connection(Protocol):
    """A connection of its own. REST takes another one for each stream, as in a browser."""

    @property
    def api(self) -> Api:
        """The calls. Each raises CallError."""
        ...

    async def null(self) -> None:
        """The null baseline: the same way there and back, and nothing done. Raises CallError."""
        ...

    async def close(self) -> None:
        """Ends it, with all that goes on over it."""
        ...


def connect(server: Server, front: Front) -> Connection:
    """A connection, which is made with the first call. Nobody needs to be there."""
    return _OverGrpc(server.grpc) if front == "grpc" else _OverRest(server.rest)


class _OverGrpc:
    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self._health = health_pb2_grpc.HealthStub(self._channel)
        self.api = GrpcApi(address, channel=self._channel)

    async def null(self) -> None:
        try:
            await self._health.Check(health_pb2.HealthCheckRequest(), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise CallError(error.code().name, error.details() or "no answer") from error

    async def close(self) -> None:
        await self._channel.close()


class _OverRest:
    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S, trust_env=False, verify=_TLS)
        self.api = RestApi(url, http=self._http)

    async def null(self) -> None:
        try:
            (await self._http.get("/healthz")).raise_for_status()
        except httpx.HTTPError as error:
            raise CallError("UNAVAILABLE", str(error) or type(error).__name__) from error

    async def close(self) -> None:
        await self._http.aclose()
