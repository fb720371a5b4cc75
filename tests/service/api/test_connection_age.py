"""How old a gRPC connection gets, and how little its client notices of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import grpc
import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub
from structlog.testing import capture_logs

from clients.over_grpc import GrpcApi
from clients.retry import followed, retried
from service.api.calls import Calls
from service.api.grpc import Age
from service.api.handlers import build_calls
from service.games.desk import Desk
from service.store.store import Options, Store
from tests.patience import patient
from tests.service.api.fronts import new_grpc_server
from tests.service.api.test_grpc import DRAW, NAME, Table

LONGEST_S = 60.0


@asynccontextmanager
async def serving(calls: Calls, age: Age) -> AsyncIterator[str]:
    """The address of a server whose connections get so old."""
    server = new_grpc_server(calls, connection_age=age)
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def test_an_old_connection_takes_no_new_calls_and_ends_those_under_way() -> None:
    """When its time is over a client leaves a connection, and what was asked on it is answered all the same."""
    table = Table()
    async with (
        asyncio.timeout(LONGEST_S),
        serving(table.calls(), Age(0.3, LONGEST_S)) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        stub = GameServiceStub(channel)
        under_way = asyncio.ensure_future(stub.Act(pb.ActRequest(name=NAME, actions=[DRAW])))
        await table.watching.wait()
        await channel.wait_for_state_change(grpc.ChannelConnectivity.READY)
        assert (await stub.GetGame(pb.GetGameRequest(name=NAME))).name == NAME
        assert not under_way.done()
        table.ending.set()
        assert (await under_way).version == 2


async def test_a_stream_breaks_off_after_the_grace() -> None:
    """A stream on a connection that is too old is UNAVAILABLE once the grace is over, and its handler ends."""
    table = Table()
    with capture_logs() as lines:
        async with (
            asyncio.timeout(LONGEST_S),
            serving(table.calls(), Age(1, 1)) as address,
            grpc.aio.insecure_channel(address) as channel,
        ):
            call = GameServiceStub(channel).Observe(pb.ObserveRequest(name=NAME))
            assert (await anext(aiter(call))).snapshot.name == NAME
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await anext(aiter(call))
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            await table.closed.wait()
    assert [(line["log_level"], line["code"]) for line in lines] == [("info", "CANCELLED")]


@pytest.fixture
async def calls(redis_url: str) -> AsyncIterator[Calls]:
    """The whole API, on a store of the test's own."""
    store = await Store.connect(redis_url, patient(Options(namespace=f"test-{uuid4().hex}")))
    yield build_calls(Desk(store), heartbeat_s=0.05)
    await store.close()


async def test_who_keeps_at_it_notices_nothing(calls: Calls) -> None:
    """A match is played and watched over connections that do not last: each act counts once, no version is missed."""
    seen: list[int] = []
    news, again = asyncio.Event(), asyncio.Event()

    async def watch(api: GrpcApi, name: str) -> None:
        async for each in followed(api, name, resumed=lambda _after: again.set(), patience_s=LONGEST_S):
            assert isinstance(each, EventBatch if seen else Game)
            seen.append(each.version)
            news.set()

    async with asyncio.timeout(LONGEST_S), serving(calls, Age(0.1, 0.1)) as address, GrpcApi(address) as api:
        game = await retried(partial(api.create_game, pb.CreateGameRequest(game=Game(seat_count=2))))
        watching = asyncio.create_task(watch(api, game.name))
        joins = [pb.JoinGameRequest(name=game.name, display_name=who, request_id=str(uuid4())) for who in "AB"]
        joined = [await retried(partial(api.join_game, join)) for join in joins]
        view = joined[-1].game.view
        for _ in range(6):
            token = joined[view.turn].token
            asked = pb.ListLegalActionsRequest(name=game.name)
            legal = await retried(partial(api.list_legal_actions, asked, token))
            act = pb.ActRequest(name=game.name, actions=legal.actions[:1], request_id=str(uuid4()))
            view = (await retried(partial(api.act, act, token))).view
            again.clear()
            await again.wait()  # the stream has broken off, and goes on
            while seen[-1] < view.version:
                news.clear()
                await news.wait()
        watching.cancel()
        await asyncio.wait([watching])
    assert seen == list(range(seen[0], view.version + 1))
