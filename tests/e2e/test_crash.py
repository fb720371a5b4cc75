"""Servers that are killed in the middle of a match: nothing that was answered is lost, and the match goes on."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import JoinGameResponse

from service.embedded import EmbeddedRedis
from tests.e2e.clients import Client
from tests.e2e.conftest import Start
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import Match, Watcher, client_of, game_of, new_id, watching

LONG = game_of(4, deals=3)
FRONTS = ("grpc", "rest")


class Company:
    """Patient players and watchers at one table, over both fronts, each at one of several servers in turn."""

    def __init__(self, stack: AsyncExitStack, servers: list[Rummyd]) -> None:
        self._stack = stack
        self._servers = servers

    async def gather(self, game: Game) -> None:
        """Sits down at a new table, and begins to watch it from every server over each front."""
        players = [
            await self.client(self._servers[seat % len(self._servers)], FRONTS[seat // 2 % 2])
            for seat in range(game.seat_count)
        ]
        name = (await players[0].create(game)).name
        for player in players:
            await player.join(name)
        self.match = Match(name, players)
        self.watchers = [
            await self._stack.enter_async_context(watching(await self.client(server, front), name, patient=True))
            for server in self._servers
            for front in FRONTS
        ]

    async def play_through(self, *accidents: Callable[[], Awaitable[None]]) -> None:
        """Plays the match to its end, while the accidents happen one after the other, some acts apart."""
        playing = asyncio.create_task(self.match.play())
        for accident in accidents:
            await self._some_acts(playing)
            await accident()
        await self._some_acts(playing)
        await playing

    async def check(self) -> None:
        """Each act made one version, and every watcher was told each version once."""
        match = self.match
        final = await match.players[0].get(match.name)
        assert final.state == Game.STATE_FINISHED
        seats = len(match.players)
        assert [acted.version for _, acted in match.acts] == list(range(seats + 2, final.version + 1))
        for watcher in self.watchers:
            await watcher.ended()
            assert [snapshot.version for snapshot in watcher.snapshots] == [seats + 1]
            assert [batch.version for batch in watcher.batches] == list(range(seats + 2, final.version + 1))
            assert watcher.batches == self.watchers[0].batches

    async def _some_acts(self, playing: asyncio.Task[object]) -> None:
        wanted = len(self.match.acts) + 8
        async with asyncio.timeout(LONGEST_S):
            while len(self.match.acts) < wanted:
                assert not playing.done(), "the match was over before the accident"
                await asyncio.sleep(0.01)

    async def client(self, server: Rummyd, front: str) -> Client:
        """Somebody who keeps at it while a server is away."""
        client = await self._stack.enter_async_context(client_of(server, front))
        client.patient = True
        return client


def resumed(watchers: list[Watcher]) -> list[int]:
    """How often each watcher had to come back."""
    return [watcher.resumed for watcher in watchers]


async def test_killed_rummyd_goes_on(start: Start, embedded_redis: EmbeddedRedis) -> None:
    """After SIGKILL and a start the match goes on: retries play nothing twice, and watchers miss nothing."""
    server = start(redis_url=embedded_redis.url)

    async def crash() -> None:
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)

    async with AsyncExitStack() as stack:
        company = Company(stack, [server])
        await company.gather(LONG)
        await company.play_through(crash, crash)
        await company.check()
        assert min(resumed(company.watchers)) >= 2


async def test_killed_with_its_embedded_redis(start: Start, tmp_path: Path) -> None:
    """A rummyd that keeps its games itself goes on after SIGKILL, too."""
    server = start("--no-throw-away", "--data-dir", str(tmp_path / "data"))

    async def crash() -> None:
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)

    async with AsyncExitStack() as stack:
        company = Company(stack, [server])
        await company.gather(LONG)
        await company.play_through(crash)
        await company.check()


async def test_killed_redis_goes_on(start: Start, embedded_redis: EmbeddedRedis) -> None:
    """While Redis is away calls are refused and streams wait; when it is back both go on, no stream having ended."""
    server = start(redis_url=embedded_redis.url)

    async def crash() -> None:
        await asyncio.to_thread(embedded_redis.kill)
        await asyncio.to_thread(embedded_redis.start)

    async with AsyncExitStack() as stack:
        company = Company(stack, [server])
        await company.gather(LONG)
        await company.play_through(crash, crash)
        await company.check()
        assert resumed(company.watchers) == [0, 0]


async def test_servers_share_the_tables(start: Start, embedded_redis: EmbeddedRedis) -> None:
    """Seats and watchers of one table are at different servers, and go on when one of these has died and come back."""
    servers = [start(redis_url=embedded_redis.url) for _ in range(2)]

    async def crash() -> None:
        await asyncio.to_thread(servers[1].kill)
        await asyncio.to_thread(servers[1].start)

    async with AsyncExitStack() as stack:
        company = Company(stack, servers)
        await company.gather(LONG)
        await company.play_through(crash)
        await company.check()
        assert resumed(company.watchers[:2]) == [0, 0]


async def test_killed_servers_give_nobody_two_seats(start: Start, embedded_redis: EmbeddedRedis) -> None:
    """While servers are killed a crowd joins at once, again and again: one seat a call, and no table too many."""
    servers = [start(redis_url=embedded_redis.url) for _ in range(2)]
    wanted, rounds = game_of(4, deals=2), 12
    seats: list[JoinGameResponse] = []

    async def keep_joining(client: Client, other: Client) -> None:
        for _ in range(rounds):
            request_id = new_id()
            seat = await client.quick_join(wanted, request_id=request_id)
            again = await other.quick_join(wanted, request_id=request_id)
            assert (again.game.name, again.token) == (seat.game.name, seat.token)
            seats.append(seat)

    async def crash(server: Rummyd) -> None:
        enough = len(seats) + 40
        async with asyncio.timeout(LONGEST_S):
            while len(seats) < enough:
                assert not joining.done(), "all were seated before the accident"
                await asyncio.sleep(0.01)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)

    async with AsyncExitStack() as stack:
        company = Company(stack, servers)
        crowd = [await company.client(servers[number % 2], FRONTS[number // 2 % 2]) for number in range(20)]
        joining = asyncio.gather(*(keep_joining(*crowd[number : number + 2]) for number in range(0, 20, 2)))
        for server in servers:
            await crash(server)
        await joining
        tables = Counter(seat.game.name for seat in seats)
        assert set(tables.values()) == {4}
        assert len(tables) == 10 * rounds // 4
        assert len({seat.token for seat in seats}) == len(seats)
        spectator = await company.client(servers[0], "grpc")
        assert not (await spectator.games(100)).games
