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
from google.rpc import code_pb2
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

_UNKNOWN: Final = "unknown"
_CALL_ID: Final = "x-request-id"
_ENDING_S: Final = 5.0
"""A call that is cancelled has so long to end."""

_OPTIONS: Final = (
    # Whoever opens more calls on one connection waits for some to end.
    ("grpc.max_concurrent_streams", 5_000),
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
    `max_request_bytes`, before there is a call to answer: RESOURCE_EXHAUSTED, without details. `receive_s`: a call
    ends whose message has not come by then. `send_s`: so does a stream whose client has taken none of its messages for
    so long. With `shared` other processes may listen on its port, too; else a port in use is an error. Connections are
    of no more than `connection_age` (None: any).
    """

    def __init__(
        self,
        calls: Calls,
        *,
        max_request_bytes: int,
        trusted_proxies: int,
        receive_s: float,
        send_s: float,
        connection_age: Age | None,
        shared: bool,
    ) -> None:
        bounds = _Bounds(receive_s, send_s, max_request_bytes)
        options = [("grpc.max_receive_message_length", max_request_bytes), ("grpc.so_reuseport", int(shared))]
        self._server = grpc.aio.server(options=[*_OPTIONS, *options, *_ages(connection_age)])
        calls.expect(FRONT)
        self._under_way: set[asyncio.Task[object]] = set()
        names = [service.full_name for service in calls.services]
        for service in calls.services:
            methods = {
                method.name: _Method(calls, method, trusted_proxies, bounds, self._under_way).handler
                for method in service.methods
            }
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, methods),))
        self._health = Health(names)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection([*names, SERVICE_NAME, reflection.SERVICE_NAME], self._server)
        self._server.add_generic_rpc_handlers((_Unknown(),))  # the last: it is asked for what no other one has

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
        if self._under_way:
            # For gRPC a call is over when its client has gone, before what is done for it has come to its end.
            await asyncio.wait(self._under_way, timeout=_ENDING_S)


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


class _Bounds(NamedTuple):
    """How long a client may take to send the message of its call, and to take one of a stream, and how long one is."""

    receive_s: float
    send_s: float
    request_bytes: int


class _Method:
    """Answers the calls of one method, from bytes to bytes.

    For gRPC each is a stream of requests, of which the first one is read: so who calls and sends none can be given up.
    """

    def __init__(
        self,
        calls: Calls,
        method: MethodDescriptor,
        proxies: int,
        bounds: _Bounds,
        under_way: set[asyncio.Task[object]],
    ) -> None:
        self._calls, self._method, self._proxies, self._bounds = calls, method, proxies, bounds
        self._under_way = under_way
        self._make = message_factory.GetMessageClass(method.input_type)

    @property
    def handler(self) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """It, as gRPC wants it."""
        if self._method.server_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.stream_unary_rpc_method_handler(self._unary)

    async def _unary(self, _requests: object, context: _Context) -> bytes:
        self._begin()
        call_id = _call_id(context)
        context.set_trailing_metadata(((_CALL_ID, call_id),))
        try:
            request, caller = await self._read(context, call_id)
            return (await self._calls.unary(self._method, request, caller)).SerializeToString()
        except ApiError as error:
            await _abort(context, error, call_id)

    async def _stream(self, _requests: object, context: _Context) -> None:
        self._begin()
        call_id, send_s = _call_id(context), self._bounds.send_s
        await context.send_initial_metadata(((_CALL_ID, call_id),))
        try:
            request, caller = await self._read(context, call_id)
            # Written, not yielded: when the client goes away, the calls' generator is closed at once, wherever it is.
            async with aclosing(self._calls.stream(self._method, request, caller)) as answers:
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

    def _begin(self) -> None:
        """Has this task among those under way until it ends."""
        if task := asyncio.current_task():
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _read(self, context: _Context, call_id: str) -> tuple[Message, Caller]:
        """The request and who makes it. What cannot be read never gets to `Calls`, so it is accounted for here."""
        try:
            caller = caller_of(partial(_values, context), call_id, FRONT, _peer(context), self._proxies)
            return _parsed(self._make, await self._message(context)), caller
        except ApiError as error:
            with account.recorded(self._method.full_name, FRONT, call_id) as call:
                call.failed(error.code_name, error.reason)
            raise

    async def _message(self, context: _Context) -> bytes:
        """The call's one message. Raises ApiError where it does not come in time, or the call ends without it.

        It does where the message is too large, too: gRPC has answered that by itself, and does not tell.
        """
        receive_s, _, most = self._bounds
        try:
            async with self._calls.arriving(receive_s):
                message = await context.read()
        except TimeoutError:
            text = f"the message was not there after {receive_s:g} seconds; send the call again"
            raise ApiError("BODY_TOO_SLOW", text) from None
        if not isinstance(message, bytes):
            raise ApiError("BODY_TOO_LARGE", f"the call has no message, or one of more than {most} bytes")
        return message


class _Unknown(grpc.GenericRpcHandler):
    """Refuses a method that there is not. gRPC would do so without a reason, a line in the log and a count."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":  # noqa: ARG002
        """The same for each."""
        # Of a stream no request is read before it is answered.
        return grpc.stream_stream_rpc_method_handler(_refuse)


async def _refuse(_requests: object, context: _Context) -> Never:
    """UNIMPLEMENTED, by which clients of gRPC find out what a server has, where REST says NOT_FOUND."""
    call_id = _call_id(context)
    error = ApiError("METHOD_NOT_FOUND", "no service here has this method; reflection lists them all")
    with account.recorded(_UNKNOWN, FRONT, call_id) as call:
        call.failed(code_pb2.Code.Name(code_pb2.UNIMPLEMENTED), error.reason)
    await _abort(context, error, call_id, code_pb2.UNIMPLEMENTED)


def _parsed(make: type[Message], data: bytes) -> Message:
    try:
        return make.FromString(data)
    except DecodeError as error:
        text = f"the bytes are no {make.DESCRIPTOR.full_name}"
        raise invalid([Violation("", text, "MALFORMED")]) from error


async def _abort(context: _Context, error: ApiError, call_id: str, code: int | None = None) -> Never:
    """Ends the call with the error, its details in the trailing metadata as `google.rpc.Status`; perhaps of a code."""
    told = error.status()
    told.code = told.code if code is None else code
    status = rpc_status.to_status(told)
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
