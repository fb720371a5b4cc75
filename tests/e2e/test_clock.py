"""Turns that run out and bots that move, on several servers of which one is killed."""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import AsyncExitStack

from rummy.v1.event_pb2 import Event, EventBatch
from rummy.v1.game_pb2 import Game

from service.embedded import EmbeddedRedis
from service.store.keys import Keys, shard_of
from tests import servers
from tests.e2e.clients import Client, GrpcClient, RestClient
from tests.e2e.conftest import Start
from tests.e2e.live import LONGEST_S
from tests.e2e.players import Match, Watcher, client_of, game_of, watching

OUTAGE_S = 8
"""Longer than a turn of the test."""


def timed(seats: int, seconds: int, *, misses: int = 0, bank: int = 0) -> Game:
    """A table with a turn limit."""
    game = game_of(seats)
    game.turn_limit.turn.FromSeconds(seconds)
    game.turn_limit.bank.FromSeconds(bank)
    game.turn_limit.misses = misses
    return game


def kinds_of(batch: EventBatch) -> list[str]:
    """What a batch tells."""
    return [str(event.WhichOneof("event")) for event in batch.events]


def timed_out(batches: Sequence[EventBatch]) -> list[Event.TurnTimedOut]:
    """Every time-out that was told."""
    return [event.turn_timed_out for batch in batches for event in batch.events if event.HasField("turn_timed_out")]


async def until_timed_out(watcher: Watcher, times: int) -> None:
    """Waits until so many turns have run out."""
    async with asyncio.timeout(LONGEST_S):
        while len(timed_out(watcher.batches)) < times:
            await watcher.told()


async def until_looked_at(redis: EmbeddedRedis, name: str, after_ms: int) -> None:
    """Waits until it is known that a server looked, after this time, for what is due among tables such as this one."""
    pulse = Keys("rummyd").due(shard_of(name.removeprefix("games/"))).pulse
    with servers.client(redis.url) as client:
        async with asyncio.timeout(LONGEST_S):
            while int(client.get(pulse) or 0) <= after_ms:  # noqa: ASYNC110 - it is asked
                await asyncio.sleep(0.02)


async def test_a_deadline_fires_once_whichever_server_lives(embedded_redis: EmbeddedRedis, start: Start) -> None:
    """Turns run out one by one, in time and once each, while one of three several after the other is killed."""
    several = [start(redis_url=embedded_redis.url) for _ in range(3)]
    async with AsyncExitStack() as stack:
        players = [await stack.enter_async_context(client_of(several[2], front)) for front in ("grpc", "rest")]
        name = (await players[0].create(timed(2, 1, misses=100))).name
        for player in players:
            await player.join(name)
        watcher = await stack.enter_async_context(watching(GrpcClient(several[2]), name))
        await until_timed_out(watcher, 2)
        several[0].kill()
        await until_timed_out(watcher, 4)
        several[1].kill()
        await until_timed_out(watcher, 8)
        batches, begun = watcher.batches, watcher.snapshots[0].view.turn
        assert [batch.version for batch in batches] == list(range(batches[0].version, batches[-1].version + 1))
        seats = [event.seat for event in timed_out(batches)]
        in_turn = [(begun + number) % 2 for number in range(len(seats))]
        assert seats == in_turn, "each turn ran out once, and no other was played"
        # Where the whole machine stands still for seconds that is an outage.
        turns = [batch for batch in batches if kinds_of(batch) != ["turn_extended"]]
        assert all(kinds_of(batch)[:3] == ["turn_timed_out", "drew", "discarded"] for batch in turns)
        times = [batch.commit_time.ToMilliseconds() for batch in turns]
        # A server that is killed between its claim and its commit may hold one of them up.
        late = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert min(late) >= 1000
        assert sorted(late)[-3] < 3000


async def test_an_outage_counts_against_nobody(embedded_redis: EmbeddedRedis, start: Start) -> None:
    """Where all servers are away when a turn's time is up, the player has as much longer as they were away."""
    server = start(redis_url=embedded_redis.url)
    async with AsyncExitStack() as stack:
        players = [await stack.enter_async_context(client_of(server, "grpc")) for _ in range(2)]
        name = (await players[0].create(timed(2, 6))).name
        for player in players:
            player.patient = True
            joined = await player.join(name)
        before = joined.game
        await until_looked_at(embedded_redis, name, before.update_time.ToMilliseconds())
        server.kill()
        await asyncio.sleep(OUTAGE_S)
        server.start()
        watcher = await stack.enter_async_context(
            watching(GrpcClient(server), name, after=before.version, patient=True)
        )
        await until_timed_out(watcher, 1)
        deadlines = [
            batch.events[0].turn_extended.deadline.ToMilliseconds()
            for batch in itertools.takewhile(lambda batch: kinds_of(batch) == ["turn_extended"], watcher.batches)
        ]
        assert deadlines, "nobody was given more time"
        assert deadlines[0] >= before.view.deadline.ToMilliseconds() + OUTAGE_S * 1000
        fired = watcher.batches[len(deadlines)]
        assert kinds_of(fired)[0] == "turn_timed_out"
        assert fired.commit_time.ToMilliseconds() >= deadlines[-1]


async def test_a_player_who_is_away_comes_back(embedded_redis: EmbeddedRedis, start: Start) -> None:
    """A seat that missed its turn is played by a bot, over REST its owner takes it back, and its bank is gone."""
    server = start("--bot-think-ms", "50", redis_url=embedded_redis.url)
    async with AsyncExitStack() as stack:
        absent = await stack.enter_async_context(RestClient(server))
        present = await stack.enter_async_context(GrpcClient(server))
        game = await absent.create(timed(2, 1, misses=1, bank=1))
        assert (game.turn_limit.misses, game.turn_limit.bank.seconds) == (1, 1)
        for player in (absent, present):
            seen = await player.join(game.name)
        assert [seat.bank.seconds for seat in seen.game.seats] == [1, 1]
        assert seen.game.view.deadline.ToMilliseconds() == seen.game.update_time.ToMilliseconds() + 2000
        watcher = await stack.enter_async_context(watching(GrpcClient(server), game.name))
        await until_timed_out(watcher, 1)
        told = await absent.get(game.name)
        assert (told.seats[0].state, told.seats[0].bank.ToMilliseconds()) == (Game.Seat.STATE_AWAY, 0)
        back = await absent.resume(game.name)
        assert back.seats[0].state == Game.Seat.STATE_TAKEN
        assert back.version == told.version + 1


async def test_bots_play_on_whichever_server_lives(embedded_redis: EmbeddedRedis, start: Start) -> None:
    """One player and two bots play a match to its end, while the server that they began at is killed."""
    servers = [start("--bot-think-ms", "20", "--clock-seconds", "0.05", redis_url=embedded_redis.url) for _ in "ab"]
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(client_of(server, "grpc")) for server in servers]
        name = (await first.create(game_of(3, hand_size=5, deals=2))).name
        second.token = (await first.join(name)).token
        assert second.token
        for _ in range(2):
            game = await first.add_bot(name)
        assert ([seat.bot for seat in game.seats], game.state) == ([False, True, True], Game.STATE_PLAYING)
        watcher = await stack.enter_async_context(watching(GrpcClient(servers[1]), name))
        await play(second, name, turns=2)
        servers[0].kill()
        await play(second, name, turns=1000)
        await watcher.ended()
        final = await second.get(name)
        assert final.state == Game.STATE_FINISHED
        assert watcher.version == final.version
        assert (await second.replay(name)).moves


async def play(player: Client, name: str, turns: int) -> None:
    """Acts so many times for the player, or to the match's end, whenever it is the player's turn."""
    for _ in range(turns):
        async with asyncio.timeout(LONGEST_S):
            while not (view := (await player.get(name)).view).HasField("options"):
                if not view.HasField("turn"):
                    return
                await asyncio.sleep(0.02)
        await Match(name, [player] * len(view.seats)).play(most=1)
