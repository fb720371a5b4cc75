"""The gRPC front: a server made from the descriptors of `Calls`, with health, reflection and rich errors.

Requests pass gRPC as bytes and are parsed here: so one that cannot be parsed is refused like any other bad one, with a
reason and a line in the log.
"""

import asyncio
import math
from contextlib import aclosing
from functools import partial
from typing import Final, NamedTuple, Never, TypeAlias
from urllib.parse import unquote

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME
from grpc_reflection.v1alpha import reflection
from grpc_status import rpc_status

from service.api.callers import Caller, call_id_of, caller_of
from service.api.calls import Calls
from service.api.errors import ApiError, Violation, invalid, not_read
from service.api.health import Health
from service.observability import account
from service.tls import Tls

__all__ = ["Age", "GrpcServer"]

FRONT: Final = "grpc"
"""The front's name in logs and metrics."""

_CALL_ID: Final = "x-request-id"

_OPTIONS: Final = (
    # Bursts wait their turn. Beyond that, calls are turned away at random, and beyond the hard limit all are.
    ("grpc.server.max_pending_requests", 20_000),
    ("grpc.server.max_pending_requests_hard_limit", 40_000),
    # A watcher whose machine has gone without a word is found out within 80 seconds.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients may ask for a sign of life as often as every 10 seconds, with or without a call under way.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


class Age(NamedTuple):
    """How old a connection gets. Its client is told then to make another, for all calls that it has not begun.

    The age is in seconds, and one tenth more or less by chance, so that clients that came together do not come again
    together. Calls under way may go on for `grace_s` seconds; what lasts longer, a stream, breaks off: UNAVAILABLE.
    """

    age_s: float
    grace_s: float = 60.0
    """Longer than any call but a stream takes: a `ListEvents` waits for half of it at most."""


class GrpcServer:
    """The server on one port. `start` listens, `stop` ends it. It is healthy from when `tell` says so.

    `trusted_proxies`: how many in front of it say truly for whom they speak. gRPC itself refuses a request of more than
    `max_request_bytes`, before there is a call to answer: RESOURCE_EXHAUSTED, without details. `send_s`: a stream
    ends when the client has taken none of its messages for so long. With `shared` other processes may listen on its
    port, too; else a port in use is an error. Connections are of no more than `connection_age` (None: any).
    """

    def __init__(
        self,
        calls: Calls,
        *,
        max_request_bytes: int,
        trusted_proxies: int,
        send_s: float,
        connection_age: Age | None,
        shared: bool,
    ) -> None:
        options = [("grpc.max_receive_message_length", max_request_bytes), ("grpc.so_reuseport", int(shared))]
        self._server = grpc.aio.server(options=[*_OPTIONS, *options, *_ages(connection_age)])
        calls.expect(FRONT)
        names = [service.full_name for service in calls.services]
        for service in calls.services:
            methods = {method.name: _handler(calls, method, trusted_proxies, send_s) for method in service.methods}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, methods),))
        self._health = Health(names)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection([*names, SERVICE_NAME, reflection.SERVICE_NAME], self._server)

    async def start(self, host: str, port: int, tls: Tls | None = None) -> int:
        """Listens on `host:port`, and gives the port (0: any free one). Raises OSError where it cannot."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if tls is None:
                bound = self._server.add_insecure_port(address)
            else:
                bound = self._server.add_secure_port(address, _credentials(tls))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}") from error
        await self._server.start()
        return bound

    async def tell(self, *, healthy: bool) -> None:
        """Sets the health of every service, and of the server as a whole. Calls are answered whatever it is."""
        self._health.tell(healthy=healthy)

    async def stop(self, grace_s: float) -> None:
        """Takes no new calls, and ends once those under way have; they are cancelled after the grace."""
        self._health.end()
        await self._server.stop(grace_s)


def _ages(age: Age | None) -> list[tuple[str, int]]:
    """gRPC's options for the age of connections."""
    if age is None:
        return []
    return [
        ("grpc.max_connection_age_ms", math.ceil(age.age_s * 1000)),
        ("grpc.max_connection_age_grace_ms", math.ceil(age.grace_s * 1000)),
    ]


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(tls.key, tls.certificate)], tls.client_ca, require_client_auth=tls.client_ca is not None
    )


_Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


def _handler(
    calls: Calls, method: MethodDescriptor, proxies: int, send_s: float
) -> "grpc.RpcMethodHandler[bytes, bytes]":
    """gRPC's handler of one method, from bytes to bytes."""
    read = partial(_read, method, message_factory.GetMessageClass(method.input_type), proxies)

    async def unary(data: bytes, context: _Context) -> bytes:
        call_id = _call_id(context)
        context.set_trailing_metadata(((_CALL_ID, call_id),))
        try:
            request, caller = read(data, context, call_id)
            return (await calls.unary(method, request, caller)).SerializeToString()
        except ApiError as error:
            await _abort(context, error, call_id)

    async def stream(data: bytes, context: _Context) -> None:
        call_id = _call_id(context)
        await context.send_initial_metadata(((_CALL_ID, call_id),))
        try:
            request, caller = read(data, context, call_id)
            # Written, not yielded: when the client goes away, the calls' generator is closed at once, wherever it is.
            async with aclosing(calls.stream(method, request, caller)) as answers:
                async for answer in answers:
                    try:
                        async with asyncio.timeout(send_s):
                            await context.write(answer.SerializeToString())
                    except TimeoutError:
                        await answers.athrow(not_read(send_s))
        except grpc.aio.InternalError:
            return  # the client went away while an answer was on its way: there is nobody to tell
        except ApiError as error:
            await _abort(context, error, call_id)

    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream)
    return grpc.unary_unary_rpc_method_handler(unary)


def _read(  # noqa: PLR0917  the first three are of the method
    method: MethodDescriptor, make: type[Message], proxies: int, data: bytes, context: _Context, call_id: str
) -> tuple[Message, Caller]:
    """The request and who makes it. What cannot be read never gets to `Calls`, so it is accounted for here."""
    try:
        caller = caller_of(partial(_values, context), call_id, FRONT, _peer(context), proxies)
        return _parsed(make, data), caller
    except ApiError as error:
        with account.recorded(method.full_name, FRONT, call_id) as call:
            call.failed(error.code_name, error.reason)
        raise


def _parsed(make: type[Message], data: bytes) -> Message:
    try:
        return make.FromString(data)
    except DecodeError as error:
        text = f"the bytes are no {make.DESCRIPTOR.full_name}"
        raise invalid([Violation("", text, "MALFORMED")]) from error


async def _abort(context: _Context, error: ApiError, call_id: str) -> Never:
    """Ends the call with the error, its details in the trailing metadata as `google.rpc.Status`."""
    status = rpc_status.to_status(error.status())
    await context.abort(status.code, status.details, (*status.trailing_metadata, (_CALL_ID, call_id)))


def _peer(context: _Context) -> str:
    """The address at the other end: gRPC says `ipv4:127.0.0.1:4711`, `ipv6:%5B::1%5D:4711` or `unix:…`."""
    kind, _, rest = context.peer().partition(":")
    return unquote(rest.rpartition(":")[0]) if kind in {"ipv4", "ipv6"} else kind


def _call_id(context: _Context) -> str:
    return call_id_of(_values(context, _CALL_ID))


def _values(context: _Context, key: str) -> list[str]:
    """Every value that the client gave for a key of the metadata."""
    return [value for name, value in context.invocation_metadata() or () if name == key and isinstance(value, str)]
