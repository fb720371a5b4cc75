"""rummyd over gRPC, by the generated stubs."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import Final, Self

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub

from clients.api import CallError

__all__ = ["GrpcApi"]

_TIMEOUT_S: Final = 10.0
"""How long a call may take. A stream may take for ever: keepalive finds out that its server is gone."""

_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # how long a connection may take to come about, for all its name
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


class GrpcApi(AbstractAsyncContextManager["GrpcApi"]):
    """The `Api` at `HOST:PORT`, over one connection that comes back by itself. `api_key` is for creating tables.

    `channel` is one to use instead of a usual one, and is closed at the end.
    """

    def __init__(self, address: str, api_key: str = "", *, channel: grpc.aio.Channel | None = None) -> None:
        self._keyed = (("x-api-key", api_key),) if api_key else ()
        self._channel = channel or grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._stub = GameServiceStub(self._channel)

    async def create_game(self, request: pb.CreateGameRequest) -> Game:
        """Creates a table."""
        with _errors():
            return await self._stub.CreateGame(request, metadata=self._keyed, timeout=_TIMEOUT_S)

    async def find_game(self, request: pb.FindGameRequest) -> Game:
        """Finds a private table by its code."""
        with _errors():
            return await self._stub.FindGame(request, timeout=_TIMEOUT_S)

    async def join_game(self, request: pb.JoinGameRequest) -> pb.JoinGameResponse:
        """Takes a seat."""
        with _errors():
            return await self._stub.JoinGame(request, timeout=_TIMEOUT_S)

    async def quick_join(self, request: pb.QuickJoinRequest) -> pb.JoinGameResponse:
        """Takes a seat at an open table that fits, or at a new one."""
        with _errors():
            return await self._stub.QuickJoin(request, timeout=_TIMEOUT_S)

    async def add_bot(self, request: pb.AddBotRequest, token: str) -> Game:
        """Puts a bot on a free seat."""
        with _errors():
            return await self._stub.AddBot(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def resume_seat(self, request: pb.ResumeSeatRequest, token: str) -> Game:
        """Takes the seat back from the bot."""
        with _errors():
            return await self._stub.ResumeSeat(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def leave_game(self, request: pb.LeaveGameRequest, token: str) -> Game:
        """Gives up the seat."""
        with _errors():
            return await self._stub.LeaveGame(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def rematch(self, request: pb.RematchRequest, token: str) -> pb.JoinGameResponse:
        """Takes the seat's place at the table where those who played here play again."""
        with _errors():
            return await self._stub.Rematch(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def get_game(self, request: pb.GetGameRequest, token: str = "") -> Game:
        """Gets a table, as the caller may see it."""
        with _errors():
            return await self._stub.GetGame(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def act(self, request: pb.ActRequest, token: str) -> pb.ActResponse:
        """Plays."""
        with _errors():
            return await self._stub.Act(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def list_legal_actions(self, request: pb.ListLegalActionsRequest, token: str) -> pb.ListLegalActionsResponse:
        """Lists what the rules allow the caller now."""
        with _errors():
            return await self._stub.ListLegalActions(request, metadata=_as(token), timeout=_TIMEOUT_S)

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        """Lists what has happened at a table after a version."""
        timeout_s = _TIMEOUT_S + request.wait.seconds
        with _errors():
            return await self._stub.ListEvents(request, metadata=_as(token), timeout=timeout_s)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table."""
        call = self._stub.Observe(request, metadata=_as(token))
        try:
            with _errors():
                async for message in call:
                    yield message
        finally:
            call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()


def _as(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata of a call by the seat with this token."""
    return (("authorization", f"Bearer {token}"),) if token else ()


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
