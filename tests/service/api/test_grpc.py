"""The gRPC front, over a real connection, before handlers of the tests' own."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client import REGISTRY
from rummy.v1 import action_pb2, game_pb2, game_service_pb2, game_service_pb2_grpc, rule_set_service_pb2
from structlog.testing import capture_logs

from service.api.calls import Caller, Calls
from service.api.errors import ApiError
from service.api.grpc import GrpcServer
from tests.service.api.fronts import new_grpc_server

NAME = "games/7k2m"
DRAW = action_pb2.Action(draw=action_pb2.Action.Draw())
Raw: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]"
GAME_SERVICE = game_service_pb2.DESCRIPTOR.services_by_name["GameService"]
RULE_SET_SERVICE = rule_set_service_pb2.DESCRIPTOR.services_by_name["RuleSetService"]


@dataclass
class Table:
    """Handlers that remember who called, and a stream that lasts until it is told to end.

    `flood`: the stream has always more to tell.
    """

    callers: list[Caller] = field(default_factory=list)
    refusal: ApiError | None = None
    flood: bool = False
    watching: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: Message, caller: Caller) -> Message:
        self.callers.append(caller)
        if self.refusal:
            raise self.refusal
        return game_pb2.Game(name=NAME)

    async def wait(self, request: Message, caller: Caller) -> Message:
        try:
            self.watching.set()
            await self.ending.wait()
            return game_service_pb2.ActResponse(version=2)
        finally:
            self.closed.set()

    async def observe(self, request: Message, caller: Caller) -> AsyncGenerator[Message]:
        self.callers.append(caller)
        try:
            yield game_service_pb2.ObserveResponse(snapshot=game_pb2.Game(name=NAME))
            while self.flood:
                yield game_service_pb2.ObserveResponse(snapshot=game_pb2.Game(name="x" * 20_000))
            self.watching.set()
            await self.ending.wait()
            raise self.refusal or AssertionError("told to end without an error")
        finally:
            self.closed.set()

    def calls(self) -> Calls:
        handlers = {method.name: self.answer for method in GAME_SERVICE.methods}
        return Calls(
            {
                GAME_SERVICE: {**handlers, "Act": self.wait, "Observe": self.observe},
                RULE_SET_SERVICE: {method.name: self.answer for method in RULE_SET_SERVICE.methods},
            }
        )


@asynccontextmanager
async def serving(
    table: Table, *, host: str = "127.0.0.1", trusted_proxies: int = 0, receive_s: float = 20, send_s: float = 30
) -> AsyncIterator[tuple[GrpcServer, grpc.aio.Channel]]:
    server = new_grpc_server(table.calls(), trusted_proxies=trusted_proxies, receive_s=receive_s, send_s=send_s)
    port = await server.start(host, 0)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            yield server, channel
    finally:
        await server.stop(0)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """The reason in the ErrorInfo of an error, whose status must say the same as the call's."""
    status = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert (status.code, status.message) == (error.code().value[0], error.details())
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "rummyd"
    return info.reason


async def test_token_and_call_id_reach_the_handler() -> None:
    """The bearer token and the request id of the metadata say who calls, and the id comes back."""
    table = Table()
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        call = stub.GetGame(
            game_service_pb2.GetGameRequest(name=NAME),
            metadata=(("authorization", "Bearer abc.DEF-1"), ("x-request-id", "mine-1")),
        )
        assert (await call).name == NAME
        assert table.callers == [Caller("abc.DEF-1", "mine-1", "grpc", address="127.0.0.1")]
        assert dict(await call.trailing_metadata())["x-request-id"] == "mine-1"


async def test_without_metadata_a_spectator_calls_with_a_new_id() -> None:
    """A call without metadata has no token, and an id of its own."""
    table = Table()
    async with serving(table) as (_, channel):
        call = game_service_pb2_grpc.GameServiceStub(channel).GetGame(game_service_pb2.GetGameRequest(name=NAME))
        await call
        (caller,) = table.callers
        assert caller.token is None
        assert dict(await call.trailing_metadata())["x-request-id"] == caller.call_id
        assert len(caller.call_id) == 16


@pytest.mark.parametrize(
    ("host", "proxies", "address"), [("127.0.0.1", 0, "127.0.0.1"), ("::1", 0, "::"), ("::1", 1, "198.51.100.7")]
)
async def test_the_caller_is_known_by_address_and_key(host: str, proxies: int, address: str) -> None:
    """The address is the connection's, or what a trusted proxy says; the key is in metadata of its own."""
    table = Table()
    async with serving(table, host=host, trusted_proxies=proxies) as (_, channel):
        metadata = (("x-forwarded-for", "198.51.100.7"), ("x-api-key", "k"))
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        await stub.GetGame(game_service_pb2.GetGameRequest(name=NAME), metadata=metadata)
    (caller,) = table.callers
    assert (caller.address, caller.api_key) == (address, "k")


@pytest.mark.parametrize(
    "values",
    [
        ["Basic abc"],
        ["Bearer"],
        ["Bearer "],
        ["Bearer a b"],
        ["Bearer a,b"],
        ["Bearer " + "a" * 257],
        [""],
        ["Bearer a", "Bearer b"],
    ],
)
async def test_malformed_authorization_is_refused(values: list[str]) -> None:
    """An authorization that is no bearer token is UNAUTHENTICATED, and the handler is not asked."""
    table = Table()
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetGame(
                game_service_pb2.GetGameRequest(name=NAME), metadata=[("authorization", value) for value in values]
            )
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert reason_of(caught.value) == "TOKEN_INVALID"
        assert not table.callers


async def test_unparsable_request_is_refused_and_logged() -> None:
    """Bytes that are no message of the method's are INVALID_ARGUMENT with a reason, and have their line in the log."""
    table = Table()
    async with serving(table) as (_, channel):
        act: Raw = channel.unary_unary(f"/{GAME_SERVICE.full_name}/Act")
        with capture_logs() as lines, pytest.raises(grpc.aio.AioRpcError) as caught:
            await act(b"\xff\xff\xff")
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert reason_of(caught.value) == "INVALID_FIELD"
        (line,) = lines
        assert (line["event"], line["code"], line["reason"]) == ("call", "INVALID_ARGUMENT", "INVALID_FIELD")


async def test_refusal_carries_its_reason_and_metadata() -> None:
    """An error of a handler comes with its code, its text and its ErrorInfo."""
    table = Table(refusal=ApiError("GAME_NOT_FOUND", "there is no games/7k2m", {"game": NAME}))
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetGame(game_service_pb2.GetGameRequest(name=NAME), metadata=(("x-request-id", "mine-2"),))
        error = caught.value
        assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "there is no games/7k2m")
        assert reason_of(error) == "GAME_NOT_FOUND"
        assert dict(error.trailing_metadata())["x-request-id"] == "mine-2"


async def test_stream_ends_with_its_error() -> None:
    """A stream that fails after some messages gives those, then the error with its reason."""
    table = Table(refusal=ApiError("SERVER_DRAINING", "the server stops; go on with another"))
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        call = stub.Observe(game_service_pb2.ObserveRequest(name=NAME))
        assert (await anext(aiter(call))).snapshot.name == NAME
        table.ending.set()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(aiter(call))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert reason_of(caught.value) == "SERVER_DRAINING"


async def test_cancelled_stream_is_closed_at_once() -> None:
    """A client that gives up a stream ends its handler there and then, and the log says CANCELLED."""
    table = Table()
    with capture_logs() as lines:
        async with serving(table) as (_, channel):
            call = game_service_pb2_grpc.GameServiceStub(channel).Observe(game_service_pb2.ObserveRequest(name=NAME))
            await call.read()
            await table.watching.wait()
            call.cancel()
            await asyncio.wait_for(table.closed.wait(), 60)
    assert [line["code"] for line in lines] == ["CANCELLED"]


async def test_stream_whose_reader_stands_still_is_closed_when_it_goes() -> None:
    """A client that reads nothing holds the stream up, and when it goes, the handler that waits for it ends."""
    table = Table()
    sent = 0

    async def flood(request: Message, caller: Caller) -> AsyncGenerator[Message]:
        nonlocal sent
        try:
            while True:
                yield game_service_pb2.ObserveResponse(snapshot=game_pb2.Game(name=NAME, display_name="x" * 50_000))
                sent += 1
        finally:
            table.closed.set()

    table.observe = flood  # type: ignore[method-assign]
    async with serving(table) as (_, channel):
        call = game_service_pb2_grpc.GameServiceStub(channel).Observe(game_service_pb2.ObserveRequest(name=NAME))
        before = -1
        while sent == 0 or sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert not table.closed.is_set()
        call.cancel()
        await asyncio.wait_for(table.closed.wait(), 60)


async def test_client_that_goes_while_it_is_written_to(caplog: pytest.LogCaptureFixture) -> None:
    """A client that goes away in the middle of a message has given up its call, and no error is logged."""
    table = Table()

    async def flood(request: Message, caller: Caller) -> AsyncGenerator[Message]:
        while True:
            yield game_service_pb2.ObserveResponse(snapshot=game_pb2.Game(name=NAME, display_name="x" * 500))

    table.observe = flood  # type: ignore[method-assign]
    unhurried = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1), ("grpc.use_local_subchannel_pool", 1)]
    server = new_grpc_server(table.calls())
    port = await server.start("127.0.0.1", 0)
    with capture_logs() as lines:
        for _ in range(20):
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=unhurried) as channel:
                call = game_service_pb2_grpc.GameServiceStub(channel).Observe(
                    game_service_pb2.ObserveRequest(name=NAME)
                )
                await call.read()
                call.cancel()
        await server.stop(10)
    assert [line["code"] for line in lines] == ["CANCELLED"] * 20
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_stopping_waits_for_what_is_cancelled() -> None:
    """A server that has stopped has nothing under way: what was cancelled has come to its end, and is in the log."""
    table = Table()
    begun = asyncio.Event()

    async def slow_to_end(request: Message, caller: Caller) -> Message:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)
        raise AssertionError

    table.wait = slow_to_end  # type: ignore[method-assign]
    async with serving(table) as (server, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        with capture_logs() as lines:
            act = stub.Act(game_service_pb2.ActRequest(name=NAME, actions=[DRAW]))
            await begun.wait()
            act.cancel()
            await server.stop(10)
        assert [line["code"] for line in lines] == ["CANCELLED"]


async def test_deadline_cancels_the_handler() -> None:
    """A call that is not answered before its deadline ends with DEADLINE_EXCEEDED, and so does the work for it."""
    table = Table()
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        request = game_service_pb2.ActRequest(name=NAME, actions=[DRAW])
        await channel.channel_ready()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Act(request, timeout=2)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await asyncio.wait_for(table.closed.wait(), 60)


async def test_stopping_lets_calls_finish() -> None:
    """A call under way when the server is told to stop is answered, within the grace."""
    table = Table()
    async with serving(table) as (server, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        act = asyncio.ensure_future(stub.Act(game_service_pb2.ActRequest(name=NAME, actions=[DRAW])))
        await table.watching.wait()
        stopping = asyncio.create_task(server.stop(5))
        await asyncio.sleep(0)
        table.ending.set()
        assert (await act).version == 2
        await stopping


async def test_too_large_a_request_is_refused_and_logged() -> None:
    """A request above the limit is RESOURCE_EXHAUSTED, and the handler is not asked; the log has why."""
    table = Table()
    async with serving(table) as (_, channel):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        with capture_logs() as lines, pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetGame(game_service_pb2.GetGameRequest(name="x" * 70_000))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert not table.callers
    (line,) = lines
    assert (line["event"], line["code"], line["reason"]) == ("call", "INVALID_ARGUMENT", "BODY_TOO_LARGE")


@pytest.mark.parametrize("method", ["GetGame", "Observe"])
async def test_a_call_whose_message_does_not_come_is_given_up(method: str) -> None:
    """It ends in time, with a reason that is worth another try; however many there are, none is kept."""
    table = Table()
    async with serving(table, receive_s=0.3) as (_, channel), asyncio.timeout(60):
        call: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            f"/{GAME_SERVICE.full_name}/{method}"
        )
        silent = [call() for _ in range(50)]
        for one in silent:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await one.read()
            assert (caught.value.code(), reason_of(caught.value)) == (grpc.StatusCode.ABORTED, "BODY_TOO_SLOW")
    assert not table.callers


async def test_a_call_without_a_message_is_refused() -> None:
    """A client that says it has sent all, and has sent nothing, is told so."""
    table = Table()
    async with serving(table) as (_, channel):
        call: grpc.aio.StreamUnaryCall[bytes, bytes] = channel.stream_unary(f"/{GAME_SERVICE.full_name}/GetGame")()
        await call.done_writing()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert (caught.value.code(), reason_of(caught.value)) == (grpc.StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE")
    assert not table.callers


@pytest.mark.parametrize("path", [f"/{GAME_SERVICE.full_name}/Cheat", "/poker.v1.Poker/Bet", "/nothing"])
async def test_unknown_method_is_unimplemented_and_logged(path: str) -> None:
    """A method that no service has is UNIMPLEMENTED with a reason, has its line in the log, and is counted."""
    labels = {"method": "unknown", "front": "grpc", "code": "UNIMPLEMENTED", "reason": "METHOD_NOT_FOUND"}
    before = REGISTRY.get_sample_value("rummyd_calls_total", labels) or 0.0
    async with serving(Table()) as (_, channel):
        cheat: Raw = channel.unary_unary(path)
        with capture_logs() as lines, pytest.raises(grpc.aio.AioRpcError) as caught:
            await cheat(b"x" * 100_000, metadata=(("x-request-id", "mine-3"),))
        error = caught.value
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        assert reason_of(error) == "METHOD_NOT_FOUND"
        assert dict(error.trailing_metadata())["x-request-id"] == "mine-3"
    (line,) = lines
    assert (line["event"], line["call_id"]) == ("call", "mine-3")
    assert {name: line[name] for name in labels} == labels
    assert REGISTRY.get_sample_value("rummyd_calls_total", labels) == before + 1


async def test_health_is_what_it_was_told() -> None:
    """Each service, and the server as a whole, is NOT_SERVING until told healthy, and again when told unhealthy."""
    healthy, unhealthy = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
    async with serving(Table()) as (server, channel):
        stub = health_pb2_grpc.HealthStub(channel)

        async def seen() -> set[int]:
            names = ["", GAME_SERVICE.full_name, RULE_SET_SERVICE.full_name]
            checked = {name: await stub.Check(health_pb2.HealthCheckRequest(service=name)) for name in names}
            assert dict((await stub.List(health_pb2.HealthListRequest())).statuses) == checked
            return {answer.status for answer in checked.values()}

        assert await seen() == {unhealthy}
        await server.tell(healthy=True)
        assert await seen() == {healthy}
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=GAME_SERVICE.full_name))
        assert (await watch.read()).status == healthy
        await server.tell(healthy=False)
        assert (await asyncio.wait_for(watch.read(), 60)).status == unhealthy
        assert await seen() == {unhealthy}


async def test_health_of_an_unknown_service() -> None:
    """Of a service that is not there a check is NOT_FOUND, and a watch SERVICE_UNKNOWN."""
    async with serving(Table()) as (_, channel):
        stub = health_pb2_grpc.HealthStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="rummy.v1.Whist"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="rummy.v1.Whist"))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


async def test_watches_of_health_do_not_hold_up_a_stop() -> None:
    """A server that stops tells those who watch its health, and ends their watches without waiting out its grace."""
    async with serving(Table()) as (server, channel):
        await server.tell(healthy=True)
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        await server.tell(healthy=False)
        await asyncio.wait_for(server.stop(600), 60)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await watch.read() is grpc.aio.EOF


async def test_reflection_lists_every_service_and_describes_the_api() -> None:
    """Reflection names every service, itself and health among them, and gives the file of each method's types."""
    request = reflection_pb2.ServerReflectionRequest
    async with serving(Table()) as (_, channel):
        asked = [request(list_services=""), request(file_containing_symbol=GAME_SERVICE.full_name)]
        info = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter(asked))
        listed, described = [answer async for answer in info]
    assert {service.name for service in listed.list_services_response.service} == {
        "rummy.v1.GameService",
        "rummy.v1.RuleSetService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert game_service_pb2.DESCRIPTOR.serialized_pb in described.file_descriptor_response.file_descriptor_proto


async def test_port_in_use_is_an_error() -> None:
    """A port that another listens on is an OSError, and not shared with it."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            await new_grpc_server(Table().calls()).start("127.0.0.1", port)


async def test_second_server_cannot_share_the_port() -> None:
    """Two servers of this program do not share a port either."""
    first = new_grpc_server(Table().calls())
    port = await first.start("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match="cannot listen"):
            await new_grpc_server(Table().calls()).start("127.0.0.1", port)
    finally:
        await first.stop(0)


async def test_a_stream_that_is_not_read_ends() -> None:
    """Where the client takes nothing the stream is closed in time; when it reads again it is told where it stands."""
    table = Table(flood=True)
    async with serving(table, send_s=0.3) as (_, channel), asyncio.timeout(60):
        call = game_service_pb2_grpc.GameServiceStub(channel).Observe(game_service_pb2.ObserveRequest(name=NAME))
        await call.read()
        await table.closed.wait()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await all_of(call)
    assert (caught.value.code(), reason_of(caught.value)) == (grpc.StatusCode.ABORTED, "FELL_BEHIND")


async def all_of(
    call: "grpc.aio.UnaryStreamCall[game_service_pb2.ObserveRequest, game_service_pb2.ObserveResponse]",
) -> None:
    """All that a stream still has to tell."""
    while await call.read() is not grpc.aio.EOF:
        pass
