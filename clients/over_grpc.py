"""rummyd over gRPC. The stubs in `rummy.v1` are the same, without this module's errors and timeouts."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Final

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from rummy.v1 import game_service_pb2 as pb

from clients.api import Answer, Api, CallError
from clients.methods import headers_of, method_of, timeout_of

__all__ = ["GrpcApi"]

_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # how long a connection may take to come about, for all its name
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


class GrpcApi(Api):
    """The `Api` at `HOST:PORT`, over one connection that comes back by itself. `api_key` is for creating tables.

    `channel` is one to use instead of a usual one, such as one with TLS, and is closed at the end.
    """

    def __init__(self, address: str, api_key: str = "", *, channel: grpc.aio.Channel | None = None) -> None:
        self._api_key = api_key
        self._channel = channel or grpc.aio.insecure_channel(address, options=_OPTIONS)

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        """One call, and its answer."""
        call: grpc.aio.UnaryUnaryMultiCallable[Message, Answer] = self._channel.unary_unary(
            _path(request), request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        with _errors():
            return await call(request, metadata=self._metadata(request, token), timeout=timeout_of(request))

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table. A stream may take for ever: keepalive finds out that its server is gone."""
        call: grpc.aio.UnaryStreamMultiCallable[pb.ObserveRequest, pb.ObserveResponse] = self._channel.unary_stream(
            _path(request),
            request_serializer=pb.ObserveRequest.SerializeToString,
            response_deserializer=pb.ObserveResponse.FromString,
        )
        stream = call(request, metadata=self._metadata(request, token))
        try:
            with _errors():
                async for message in stream:
                    yield message
        finally:
            stream.cancel()

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()

    def _metadata(self, request: Message, token: str) -> tuple[tuple[str, str], ...]:
        return tuple(headers_of(request, token, self._api_key).items())


def _path(request: Message) -> str:
    """What gRPC calls the method that takes such a request."""
    method = method_of(request)
    return f"/{method.containing_service.full_name}/{method.name}"


@contextmanager
def _errors() -> Iterator[None]:
    """Turns gRPC's errors into CallError."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        said = _call_error(error)
        if said.code in {"INTERNAL", "UNKNOWN"} and not said.reason:
            said.code = "UNAVAILABLE"  # rummyd's own have a reason: a proxy on the way lost its server
        raise said from error


def _call_error(error: grpc.aio.AioRpcError) -> CallError:
    """The error with the reason that the server gave, if it was the server's."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # it has all of a call that is read there
    info = error_details_pb2.ErrorInfo()
    retry = error_details_pb2.RetryInfo()
    for detail in status.details if status else ():
        detail.Unpack(info)  # does nothing where it is of another type
        detail.Unpack(retry)
    retry_s = retry.retry_delay.ToMilliseconds() / 1000
    return CallError(error.code().name, error.details() or "no answer", info.reason, info.metadata, retry_s=retry_s)
