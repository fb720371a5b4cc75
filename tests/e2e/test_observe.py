"""Watching a table: where a stream begins, how it goes on after it was lost, and how it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from service.embedded import EmbeddedRedis
from tests.e2e.clients import Client, Failure, GrpcClient, RestClient, Stream
from tests.e2e.conftest import Start
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import Match, client_of, game_of, sit_down, watching

SHORT = game_of(2, hand_size=3, round_limit=5)
ENDLESS = game_of(7, deals=10_000)
fronts = pytest.mark.parametrize("front", ["grpc", "rest"])


async def all_of(client: Client, name: str, *, after: int = 0, epoch: str = "") -> list[pb.ObserveResponse]:
    """Every message of a stream, to its end."""
    async with client.observe(name, after=after, epoch=epoch) as stream:
        return [message async for message in stream]


def batches_in(messages: list[pb.ObserveResponse]) -> list[EventBatch]:
    """The batches of messages that are nothing else."""
    assert all(message.HasField("batch") for message in messages)
    return [message.batch for message in messages]


@pytest.fixture
async def played(rummyd: Rummyd) -> AsyncIterator[Match]:
    """A short match that is over."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, SHORT, ["grpc"])
        await match.play()
        yield match


@fronts
async def test_resumes_after_any_version(rummyd: Rummyd, played: Match, front: str) -> None:
    """From any version on, a stream gives exactly the versions that follow, and ends with the match."""
    async with client_of(rummyd, front) as client:
        game = await client.get(played.name)
        whole = batches_in(await all_of(client, played.name, after=1))
        assert [batch.version for batch in whole] == list(range(2, game.version + 1))
        for version in range(2, game.version + 1):
            for epoch in ("", game.epoch):
                rest = batches_in(await all_of(client, played.name, after=version, epoch=epoch))
                assert rest == whole[version - 1 :]


async def test_resumes_after_the_last_event(rummyd: Rummyd, played: Match) -> None:
    """Over SSE the id of an event resumes the stream after it, and after the last there is nothing to come back for."""
    async with RestClient(rummyd) as client:
        epoch = (await client.get(played.name)).epoch
        async with client.observe(played.name, after=1, epoch=epoch) as stream:
            told = [message async for message in stream]
            ids = stream.ids
        whole = batches_in(told)
        assert ids == [f"{epoch}.{message.batch.version}.{message.mark}" for message in told]
        for number, event_id in enumerate(ids, start=1):
            client.last_event_id = event_id
            assert batches_in(await all_of(client, played.name, after=1)) == whole[number:]
        assert client.last_status == 204


@fronts
async def test_begins_with_a_snapshot(rummyd: Rummyd, played: Match, front: str) -> None:
    """A stream from nowhere, from ahead of the game, or from another epoch begins with the whole table."""
    async with client_of(rummyd, front) as client:
        game = await client.get(played.name)
        for after, epoch in [(0, ""), (0, game.epoch), (game.version + 1, ""), (1, "another")]:
            (message,) = await all_of(client, played.name, after=after, epoch=epoch)
            assert message.snapshot == game
        if isinstance(client, RestClient):
            client.last_event_id = f"another.{game.version}"
            (message,) = await all_of(client, played.name, after=game.version)
            assert message.snapshot == game


@fronts
async def test_snapshot_then_every_version(rummyd: Rummyd, front: str) -> None:
    """After the snapshot come the versions that follow it, as they are made."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(rummyd, front))
        game = await client.create(SHORT)
        watcher = await stack.enter_async_context(watching(client, game.name))
        assert watcher.snapshots == [game]
        players = [await stack.enter_async_context(GrpcClient(rummyd)) for _ in range(2)]
        for player in players:
            await player.join(game.name)
        await Match(game.name, players).play()
        await watcher.ended()
        assert watcher.batches[0].events[0].HasField("seat_joined")
        assert watcher.batches[1].events[1].HasField("match_started")
        assert watcher.batches[-1].events[-1].HasField("match_ended")
        assert watcher.batches[-1].version == (await client.get(game.name)).version


async def test_many_watch_one_table(rummyd: Rummyd) -> None:
    """However many watch a table, each is told every version."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, SHORT, ["grpc", "rest"])
        clients = [await stack.enter_async_context(client_of(rummyd, front)) for front in ("grpc", "rest")]
        watchers = [await stack.enter_async_context(watching(client, match.name)) for client in clients * 25]
        last = await match.play()
        for watcher in watchers:
            await watcher.ended()
            assert watcher.batches == watchers[0].batches
            assert watcher.version == last.version


@fronts
async def test_trimmed_history_gives_a_snapshot(start: Start, front: str) -> None:
    """Where the versions asked for are no longer kept, the whole table comes instead, and then what follows it."""
    with EmbeddedRedis(options=["--stream-node-max-entries", "4"]) as redis:
        server = start("--history-length", "4", redis_url=redis.url)
        async with AsyncExitStack() as stack:
            match = await sit_down(stack, server, ENDLESS, ["grpc"])
            await match.play(30)
            client = await stack.enter_async_context(client_of(server, front))
            game = await client.get(match.name)
            lost = await stack.enter_async_context(watching(client, match.name, after=1))
            kept = await stack.enter_async_context(watching(client, match.name, after=game.version - 2))
            await match.play(30)
            for watcher in (lost, kept):
                while watcher.version < game.version + 30:
                    await watcher.told()
            assert [snapshot.version for snapshot in lost.snapshots] == [game.version]
            assert [batch.version for batch in lost.batches] == list(range(game.version + 1, game.version + 31))
            assert not kept.snapshots
            assert kept.batches[2:] == lost.batches


@fronts
async def test_heartbeats_in_silence(start: Start, front: str) -> None:
    """A stream that has nothing to tell gives signs of life, which name the version."""
    server = start("--heartbeat-seconds", "0.2")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(server, front))
        name = (await client.create(SHORT)).name
        stream = await stack.enter_async_context(client.observe(name))
        assert (await stream.next()).snapshot.version == 1
        for _ in range(2):
            beat = (await stream.next()).heartbeat
            assert beat.version == 1
            assert beat.HasField("time")
        player = await stack.enter_async_context(client_of(server, front))
        await player.join(name)
        async with asyncio.timeout(LONGEST_S):
            messages = [await stream.next()]
            while not messages[-1].HasField("batch"):
                messages.append(await stream.next())
        assert messages[-1].batch.version == 2
        assert (await stream.next()).heartbeat.version == 2


@fronts
@pytest.mark.parametrize("begun", [False, True], ids=["before the match", "in the match"])
async def test_leaving_ends_the_seats_streams(rummyd: Rummyd, front: str, begun: bool) -> None:
    """Who gives up a seat loses its streams with the news of it, and its token; the others go on."""
    async with AsyncExitStack() as stack:
        seats = 3 if begun else 4
        client = await stack.enter_async_context(client_of(rummyd, front))
        name = (await client.create(game_of(seats))).name
        players = [await stack.enter_async_context(client_of(rummyd, front)) for _ in range(3)]
        for player in players:
            await player.join(name)
        leaver, stayer = players[1:]
        gone = await stack.enter_async_context(watching(leaver, name))
        others = [await stack.enter_async_context(watching(other, name)) for other in (stayer, client)]
        left = await leaver.leave(name)
        with pytest.raises(Failure) as caught:
            await gone.ended()
        assert (caught.value.code, caught.value.reason) == ("UNAUTHENTICATED", "TOKEN_INVALID")
        (news,) = gone.batches
        assert (news.version, news.events[0].seat_left.seat) == (left.version, 1)
        for call in (leaver.get(name), leaver.leave(name), leaver.legal(name), anext(aiter_of(leaver, name))):
            with pytest.raises(Failure) as caught:
                await call
            assert caught.value.reason == "TOKEN_INVALID"
        await players[0].leave(name)
        for other in others:
            while other.version < left.version + 1:
                await other.told()
            assert [batch.version for batch in other.batches] == [left.version, left.version + 1]


async def aiter_of(client: Client, name: str) -> AsyncIterator[pb.ObserveResponse]:
    """The messages of a stream."""
    async with client.observe(name) as stream:
        async for message in stream:
            yield message


@fronts
async def test_abandoned_match_ends_the_streams(rummyd: Rummyd, front: str) -> None:
    """When the last player leaves, the streams of those who watch end well with that news."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, game_of(2), [front])
        spectator = await stack.enter_async_context(client_of(rummyd, front))
        watcher = await stack.enter_async_context(watching(spectator, match.name))
        for player in match.players:
            game = await player.leave(match.name)
        await watcher.ended()
        assert watcher.batches[-1].events[-1].HasField("match_abandoned")
        assert game.state == Game.STATE_ABANDONED
        assert game.version == watcher.version


@fronts
async def test_seats_that_move_up_see_their_own_hand(rummyd: Rummyd, front: str) -> None:
    """A match that starts with free seats takes them away, and each stream goes on as that of the seat's new number."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(rummyd, front)) for _ in range(3)]
        name = (await clients[0].create(game_of(6))).name
        watchers = []
        for client, seat in zip(clients, (1, 3, 4), strict=True):
            await client.join(name, seat=seat)
            watchers.append(await stack.enter_async_context(watching(client, name)))
        started = await clients[2].start(name)
        for seat, (client, watcher) in enumerate(zip(clients, watchers, strict=True)):
            while watcher.version < started.version:
                await watcher.told()
            events = watcher.batches[-1].events
            assert list(events[0].match_started.former_seats) == [1, 3, 4]
            view = (await client.get(name)).view
            assert view.seat == seat
            assert list(events[1].deal_started.hand) == list(view.hand)
            assert len(view.hand) == 7


@fronts
async def test_draining_sends_watchers_elsewhere(start: Start, redis_url: str, front: str) -> None:
    """A server that stops tells watchers so, and on another server they go on without a gap."""
    first, second = start(redis_url=redis_url), start(redis_url=redis_url)
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, second, SHORT, ["grpc"])
        spectator = await stack.enter_async_context(client_of(first, front))
        watcher = await stack.enter_async_context(watching(spectator, match.name))
        await match.play(2)
        while watcher.version < match.acts[-1][1].version:
            await watcher.told()
        stopped = asyncio.create_task(asyncio.to_thread(first.stop))
        with pytest.raises(Failure) as caught:
            await watcher.ended()
        assert (caught.value.code, caught.value.reason) == ("UNAVAILABLE", "SERVER_DRAINING")
        assert await stopped == 0
        await match.play()
        elsewhere = await stack.enter_async_context(client_of(second, front))
        rest = batches_in(await all_of(elsewhere, match.name, after=watcher.version))
        assert rest[0].version == watcher.version + 1
        assert rest[-1].version == (await elsewhere.get(match.name)).version


async def test_slow_reader_is_told_to_resume(start: Start) -> None:
    """Who reads too slowly is never served a gap: the stream ends, and says from where to go on."""
    server = start("--watcher-queue", "4")
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, ENDLESS, ["grpc"])
        reader = await stack.enter_async_context(GrpcClient(server, read_ahead=False))
        stream = await stack.enter_async_context(reader.observe(match.name))
        snapshot = (await stream.next()).snapshot
        await match.play(60)
        batches: list[EventBatch] = []
        with pytest.raises(Failure) as caught:
            await drain(stream, batches)
        last = batches[-1].version
        assert [batch.version for batch in batches] == list(range(snapshot.version + 1, last + 1))
        assert last < match.acts[-1][1].version
        assert (caught.value.code, caught.value.reason) == ("ABORTED", "FELL_BEHIND")
        assert caught.value.metadata == {"last_version": str(last)}
        async with reader.observe(match.name, after=last) as resumed:
            assert (await resumed.next()).batch.version == last + 1


async def drain(stream: Stream, batches: list[EventBatch]) -> None:
    """Reads batches to the end of their stream, and raises what it ends with."""
    async for message in stream:
        batches.append(message.batch)  # noqa: PERF401  kept, whatever it ends with


@fronts
async def test_refused_before_it_begins(rummyd: Rummyd, front: str) -> None:
    """A stream of no game, with another's token or from a bad version is refused like any other call."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(rummyd, front))
        mine, theirs = [(await client.create(SHORT)).name for _ in range(2)]
        refused = {}
        for case, name, after in (("gone", "games/nowhere", 0), ("bad", mine, -1), ("misnamed", "games/A", 0)):
            with pytest.raises(Failure) as caught:
                await all_of(client, name, after=after)
            refused[case] = (caught.value.code, caught.value.reason, caught.value.fields)
        await client.join(theirs)
        with pytest.raises(Failure) as caught:
            await all_of(client, mine)
        refused["another's"] = (caught.value.code, caught.value.reason, caught.value.fields)
        assert refused == {
            "gone": ("NOT_FOUND", "GAME_NOT_FOUND", ()),
            "bad": ("INVALID_ARGUMENT", "INVALID_FIELD", (("after", "INT32_GTE"),)),
            "misnamed": ("INVALID_ARGUMENT", "INVALID_FIELD", (("name", "STRING_PATTERN"),)),
            "another's": ("UNAUTHENTICATED", "TOKEN_INVALID", ()),
        }
