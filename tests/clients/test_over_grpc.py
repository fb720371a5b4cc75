"""What the gRPC client makes of errors, beside a server of the test's own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceServicer, add_GameServiceServicer_to_server

from clients.api import CallError
from clients.over_grpc import GrpcApi


class Refusing(GameServiceServicer):
    """Ends each call with one status, with or without a reason of rummyd's."""

    def __init__(self, code: grpc.StatusCode, reason: str) -> None:
        self.code, self.reason = code, reason

    async def GetGame(  # noqa: N802  the name is the call's
        self, request: pb.GetGameRequest, context: grpc.aio.ServicerContext[pb.GetGameRequest, Game]
    ) -> Game:
        """Refuses."""
        if self.reason:
            detail = any_pb2.Any()
            detail.Pack(error_details_pb2.ErrorInfo(reason=self.reason, domain="rummyd"))
            number = code_pb2.Code.Value(self.code.name)
            status = rpc_status.to_status(status_pb2.Status(code=number, message="no", details=[detail]))
            context.set_trailing_metadata(status.trailing_metadata)
        await context.abort(self.code, "no")


@asynccontextmanager
async def beside(servicer: GameServiceServicer, late_s: float = 0) -> AsyncIterator[GrpcApi]:
    """A client of a server that does as the servicer says, and takes so long to be heard of."""
    server = grpc.aio.server()
    add_GameServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    relays: list[asyncio.Task[None]] = []

    def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relays.append(asyncio.create_task(_relay(port, late_s, reader, writer)))

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as network:
        async with GrpcApi(f"127.0.0.1:{network.sockets[0].getsockname()[1]}") as api:
            yield api
        await server.stop(None)
        await asyncio.gather(*relays)


async def _relay(port: int, late_s: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(late_s)
    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_pass_on(reader, up_writer), _pass_on(up_reader, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


@pytest.mark.parametrize(
    ("code", "reason", "seen", "again"),
    [
        (grpc.StatusCode.INTERNAL, "", "UNAVAILABLE", True),
        (grpc.StatusCode.UNKNOWN, "", "UNAVAILABLE", True),
        (grpc.StatusCode.INTERNAL, "INTERNAL", "INTERNAL", False),
        (grpc.StatusCode.NOT_FOUND, "GAME_NOT_FOUND", "NOT_FOUND", False),
        (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE", "UNAVAILABLE", True),
    ],
)
async def test_what_a_proxy_made_up_is_worth_a_retry(
    code: grpc.StatusCode, reason: str, seen: str, again: bool
) -> None:
    """An error without a reason is a proxy's, which has lost its server; rummyd's own keep their code."""
    async with beside(Refusing(code, reason)) as api:  # type: ignore[abstract]  # the rest is not called
        with pytest.raises(CallError) as caught:
            await api.get_game(pb.GetGameRequest(name="games/any"))
    assert (caught.value.code, caught.value.reason, caught.value.worth_a_retry) == (seen, reason, again)


async def test_a_server_may_be_far_away() -> None:
    """A connection that takes longer to come about than a client waits between two attempts does come about."""
    async with beside(Refusing(grpc.StatusCode.NOT_FOUND, "GAME_NOT_FOUND"), late_s=0.5) as api:  # type: ignore[abstract]
        with pytest.raises(CallError, match="NOT_FOUND"):
            await api.get_game(pb.GetGameRequest(name="games/any"))
