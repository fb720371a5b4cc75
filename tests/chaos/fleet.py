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

from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb

from clients.api import Answer, Api
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from tests.e2e.live import Rummyd

_FLAGS = ("--history-length", "100000", "--bot-think-ms", "50", "--redis-timeout-seconds", "2")


class AnyServer(Api):
    """The `Api` of several servers at once. Each call, and each stream, is one server's, drawn anew."""

    def __init__(self, apis: list[Api], chance: random.Random) -> None:
        self._apis, self._chance = apis, chance

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        return await self._one().call(request, answer, token)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        async with aclosing(self._one().observe(request, token)) as stream:
            async for message in stream:
                yield message

    async def close(self) -> None:
        await asyncio.gather(*(api.close() for api in self._apis))

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
        apis: list[Api] = [api for server in servers for api in (GrpcApi(server.grpc), RestApi(server.rest))]
        any_server = await stack.enter_async_context(AnyServer(apis, random.Random(1)))  # noqa: S311 - no secret
        ours = Fleet(servers, any_server)
        yield ours
        assert all(server.lives for server in ours.up), "a server has ended by itself"
