"""Polling a table over the network: the same history as a stream's, page by page, from any server."""

import asyncio
import time
from contextlib import AsyncExitStack

import pytest
from rummy.v1.event_pb2 import EventBatch

from tests.e2e.clients import Client, Failure, GrpcClient, LostError, RestClient
from tests.e2e.conftest import Start
from tests.e2e.live import Rummyd
from tests.e2e.players import Match, client_of, game_of, sit_down, watching
from tests.e2e.test_observe import SHORT, all_of, batches_in

fronts = pytest.mark.parametrize("front", ["grpc", "rest"])


async def polled(clients: list[Client], name: str, *, after: int, page_size: int) -> list[EventBatch]:
    """All of a match that is over, the servers asked in turn."""
    told = list[EventBatch]()
    epoch, over = "", False
    while not over:
        page = await clients[len(told) % len(clients)].events(name, after=after, epoch=epoch, page_size=page_size)
        assert not page.HasField("snapshot")
        assert page.more != page.over
        told += page.batches
        after, epoch, over = page.version, page.epoch, page.over
    return told


@fronts
@pytest.mark.parametrize("page_size", [1, 7, 0])
async def test_pages_are_what_a_stream_is(rummyd: Rummyd, sister: Rummyd, front: str, page_size: int) -> None:
    """A match, asked for page by page from two servers, is the stream's, for each seat and for a spectator."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, SHORT, [front])
        await match.play()
        spectator = await stack.enter_async_context(client_of(rummyd, front))
        for client in (*match.players, spectator):
            other = await stack.enter_async_context(client_of(sister, front))
            other.token = client.token
            streamed = batches_in(await all_of(client, match.name, after=1))
            assert await polled([client, other], match.name, after=1, page_size=page_size) == streamed


@fronts
async def test_a_place_outside_the_history_is_answered_with_the_table(rummyd: Rummyd, front: str) -> None:
    """From nowhere, from ahead of the game or from another epoch, the answer is the whole table, and nothing else."""
    async with client_of(rummyd, front) as client:
        game = await client.create(SHORT)
        for after, epoch in [(0, ""), (0, game.epoch), (2, game.epoch), (1, "another")]:
            page = await client.events(game.name, after=after, epoch=epoch, wait_s=30)
            assert page.snapshot == game
            assert (list(page.batches), page.version, page.epoch) == ([], 1, game.epoch)


@fronts
async def test_a_call_waits_for_what_another_server_is_told(rummyd: Rummyd, sister: Rummyd, front: str) -> None:
    """A call that may wait is answered with the next version, made on another server, and not before."""
    async with AsyncExitStack() as stack:
        client, player = [await stack.enter_async_context(client_of(server, front)) for server in (rummyd, sister)]
        name = (await client.create(SHORT)).name
        assert (await client.events(name, after=1)).version == 1
        waiting = asyncio.create_task(client.events(name, after=1, wait_s=30))
        await player.join(name)
        (batch,) = (await waiting).batches
        assert batch.events[0].HasField("seat_joined")
        assert (await client.events(name, after=2, wait_s=1)).version == 2


@fronts
async def test_a_stream_and_pages_take_turns(rummyd: Rummyd, front: str) -> None:
    """A page goes on from what a stream told last, and a stream from a page, by version and epoch alone."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, SHORT, [front])
        client = await stack.enter_async_context(client_of(rummyd, front))
        told = list[EventBatch]()
        watcher = await stack.enter_async_context(watching(client, match.name, after=1))
        await match.play(3)
        while watcher.version < match.acts[-1][1].version:
            await watcher.told()
        told += watcher.batches
        assert all(batch.epoch for batch in told), "though the stream was asked for by version alone"
        await match.play(3)
        told += (await client.events(match.name, after=told[-1].version, epoch=told[-1].epoch)).batches
        await match.play()
        told += batches_in(await all_of(client, match.name, after=told[-1].version, epoch=told[-1].epoch))
        assert told == batches_in(await all_of(client, match.name, after=1))


async def test_a_server_that_stops_lets_those_who_wait_go(start: Start, redis_url: str) -> None:
    """A wait ends when its server drains, in a way that says to go on elsewhere, and holds up no stop."""
    server = start("--grace-seconds", "60", redis_url=redis_url)
    async with AsyncExitStack() as stack:
        clients: list[Client] = [await stack.enter_async_context(front(server)) for front in (GrpcClient, RestClient)]
        name = (await clients[0].create(SHORT)).name
        waiting = [asyncio.create_task(client.events(name, after=1, wait_s=30)) for client in clients]
        await clients[0].get(name)
        began = time.monotonic()
        assert await asyncio.to_thread(server.stop) == 0
        assert time.monotonic() - began < 20
        for call in waiting:
            with pytest.raises((Failure, LostError), check=_elsewhere):
                await call


def _elsewhere(error: BaseException) -> bool:
    """Whether it says to go on with another server; a call that came too late found none at all."""
    return isinstance(error, LostError) or (isinstance(error, Failure) and error.reason == "SERVER_DRAINING")


async def test_trimmed_history_gives_the_table(start: Start) -> None:
    """Where the versions asked for are no longer kept, the whole table comes instead."""
    server = start("--history-length", "4")
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, game_of(7, deals=10_000), ["grpc"])
        await Match.play(match, 300)
        game = await match.players[0].get(match.name)
        page = await match.players[0].events(match.name, after=1)
        assert page.snapshot == game
        assert (page.version, page.more, page.over) == (game.version, False, False)
