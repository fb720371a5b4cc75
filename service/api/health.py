"""gRPC's own health service, as clients and orchestrators ask it: `grpc.health.v1.Health`.

The servicer of grpcio-health-checking has no `List`, though reflection tells of it, and no end to its watches, so that
a single one would use up the grace of every stop.
"""

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

__all__ = ["Health"]

_Context: TypeAlias = "grpc.aio.ServicerContext[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]"


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # the package is untyped
    """The health of the services with these names, and of the server as a whole (the empty name): all have the same."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = ("", *names)
        self._status = health_pb2.HealthCheckResponse.NOT_SERVING
        self._ended = False
        self._change = asyncio.Event()

    def tell(self, *, healthy: bool) -> None:
        """Sets the health, and tells those who watch."""
        response = health_pb2.HealthCheckResponse
        self._status = response.SERVING if healthy else response.NOT_SERVING
        self._wake()

    def end(self) -> None:
        """Ends every watch, once it has told the last change."""
        self._ended = True
        self._wake()

    async def Check(  # noqa: N802  the method's name
        self, request: health_pb2.HealthCheckRequest, context: _Context
    ) -> health_pb2.HealthCheckResponse:
        """The health of a service. NOT_FOUND for an unknown one."""
        if request.service not in self._names:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no service {request.service}")
        return health_pb2.HealthCheckResponse(status=self._status)

    async def List(  # noqa: N802
        self, _request: health_pb2.HealthListRequest, _context: _Context
    ) -> health_pb2.HealthListResponse:
        """The health of every service."""
        return health_pb2.HealthListResponse(
            statuses={name: health_pb2.HealthCheckResponse(status=self._status) for name in self._names}
        )

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: _Context) -> None:  # noqa: N802
        """The health of a service now, and at every change: SERVICE_UNKNOWN for an unknown one."""
        told = None
        while True:
            unknown = request.service not in self._names
            status = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN if unknown else self._status
            if status != told:
                await context.write(health_pb2.HealthCheckResponse(status=status))
                told = status
            elif self._ended:
                return
            else:
                await self._change.wait()

    def _wake(self) -> None:
        """Wakes every watch; each waits for the next change with an event of its own time."""
        self._change.set()
        self._change = asyncio.Event()
