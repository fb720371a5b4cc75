"""Several servers on one Redis, and a client of all of them that neither knows nor minds which of them live.

async with fleet(folder, redis_url) as servers:
    servers.any                        an Api: each call goes to one of them, over gRPC or REST, by chance
    await servers.kill(server)         SIGKILL, and a start on the same ports
    await servers.restart(server)      SIGTERM: it drains; and a start on the same ports
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

from clients.api import Api
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from tests.e2e.live import Rummyd

_FLAGS = ("--history-length", "100000", "--bot-think-ms", "50")


class AnyServer:
    """The `Api` of several servers at once. Each call, and each stream, is one server's, drawn anew."""

    def __init__(self, apis: list[Api], chance: random.Random) -> None:
        self._apis, self._chance = apis, chance

    async def create_game(self, request: pb.CreateGameRequest) -> Game:
        return await self._one().create_game(request)

    async def find_game(self, request: pb.FindGameRequest) -> Game:
        return await self._one().find_game(request)

    async def join_game(self, request: pb.JoinGameRequest) -> pb.JoinGameResponse:
        return await self._one().join_game(request)

    async def quick_join(self, request: pb.QuickJoinRequest) -> pb.JoinGameResponse:
        return await self._one().quick_join(request)

    async def add_bot(self, request: pb.AddBotRequest, token: str) -> Game:
        return await self._one().add_bot(request, token)

    async def resume_seat(self, request: pb.ResumeSeatRequest, token: str) -> Game:
        return await self._one().resume_seat(request, token)

    async def leave_game(self, request: pb.LeaveGameRequest, token: str) -> Game:
        return await self._one().leave_game(request, token)

    async def rematch(self, request: pb.RematchRequest, token: str) -> pb.JoinGameResponse:
        return await self._one().rematch(request, token)

    async def get_game(self, request: pb.GetGameRequest, token: str = "") -> Game:
        return await self._one().get_game(request, token)

    async def act(self, request: pb.ActRequest, token: str) -> pb.ActResponse:
        return await self._one().act(request, token)

    async def list_legal_actions(self, request: pb.ListLegalActionsRequest, token: str) -> pb.ListLegalActionsResponse:
        return await self._one().list_legal_actions(request, token)

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        return await self._one().list_events(request, token)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        async with aclosing(self._one().observe(request, token)) as stream:
            async for message in stream:
                yield message

    def _one(self) -> Api:
        return self._chance.choice(self._apis)


class Fleet:
    """The servers, and what was done to them. `up` are those that run, the one that was started last at the end."""

    def __init__(self, servers: list[Rummyd], any_server: AnyServer) -> None:
        self.up = servers
        self.any = any_server
        self.kills = self.restarts = 0

    async def kill(self, server: Rummyd) -> None:
        """Ends a server as a crash of its machine would, and starts it again."""
        self.up.remove(server)
        self.kills += 1
        await asyncio.to_thread(server.kill)
        await self._start(server)

    async def restart(self, server: Rummyd) -> None:
        """Asks a server to stop, as a deployment does, and starts it again."""
        self.up.remove(server)
        self.restarts += 1
        status = await asyncio.to_thread(server.stop)
        assert status == 0, f"a server that was asked to stop ended with {status}"
        await self._start(server)

    async def _start(self, server: Rummyd) -> None:
        await asyncio.to_thread(server.start)
        self.up.append(server)


@asynccontextmanager
async def fleet(folder: Path, redis_url: str, *flags: str, size: int = 3) -> AsyncIterator[Fleet]:
    """So many servers on that Redis, whose history keeps every version, and whose bots think a moment.

    Whatever is broken around them, none may end by itself, nor log a fault of its own, as each `INTERNAL` is.
    """
    async with AsyncExitStack() as stack:
        servers = []
        for number in range(size):
            place = folder / f"server-{number}"
            place.mkdir()
            servers.append(Rummyd(place, *_FLAGS, *flags, redis_url=redis_url))
            stack.push(servers[-1])
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
        apis: list[Api] = []
        for server in servers:
            apis.append(await stack.enter_async_context(GrpcApi(server.grpc)))
            apis.append(await stack.enter_async_context(RestApi(server.rest)))
        ours = Fleet(servers, AnyServer(apis, random.Random(1)))  # noqa: S311 - no secret
        yield ours
        assert all(server.lives for server in ours.up), "a server has ended by itself"
