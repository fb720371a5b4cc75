"""The match of the demo: a table, its seats and its watchers, and what came of it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from signal import SIGKILL, Signals
from typing import Final

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet

from clients.api import Api
from clients.demo.checks import Played, checks
from clients.demo.player import join
from clients.demo.rummyd import Rummyd, rummyd
from clients.demo.screen import Screen
from clients.demo.watcher import Watcher
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from clients.retry import Retrying

__all__ = ["Match", "Options", "play_match"]

KILLED_AT: Final = 16
"""The version at which the server is killed, where it shall be: in the second round of four seats."""

_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hedy")


@dataclass(frozen=True, slots=True)
class Options:
    """What is played and where: on the server at `grpc` (`HOST:PORT`) and `rest` (a URL), or on one of its own."""

    game: str = "basic"
    seats: int = 4
    deals: int = 0
    kill: bool = False
    pace_s: float = 0.0
    grpc: str = ""
    rest: str = ""


async def play_match(options: Options, screen: Screen) -> bool:
    """Plays a match to its end, and checks it. Gives whether all is well.

    Raises CallError or StartError, or an ExceptionGroup of them.
    """
    async with AsyncExitStack() as stack:
        server = None if options.grpc else await stack.enter_async_context(rummyd())
        grpc, rest = (server.grpc, server.rest) if server else (options.grpc, options.rest)
        by_grpc = await stack.enter_async_context(GrpcApi(grpc))
        by_rest = await stack.enter_async_context(RestApi(rest))
        screen.say(f"rummyd at {grpc} (gRPC) and {rest} (REST)" + (f", process {server.pid}" if server else ""), "dim")
        created = await _create(by_grpc, options)
        match = Match(created, by_grpc, by_rest, screen, server, kill=options.kill)
        played = await match.play(options.seats, options.pace_s)
        return _report(played, screen, match.kill_check())


class Match:
    """One match: watchers first, then the seats, so that nothing happens unseen.

    `server` is kept alive meanwhile, and with `kill` killed once; without it the server is somebody else's.
    """

    def __init__(
        self,
        created: Game,
        by_grpc: Api,
        by_rest: Api,
        screen: Screen,
        server: Rummyd | None = None,
        *,
        kill: bool = False,
    ) -> None:
        self._created, self._by_grpc, self._by_rest = created, by_grpc, by_rest
        self._server, self._screen = server, screen
        self._to_kill, self._killed_at, self._version = kill, 0, 0

    async def play(self, seats: int, pace_s: float = 0.0) -> Played:
        """Plays to the end. Seats take turns in the way they speak: gRPC, REST, gRPC …"""
        name = self._created.name
        watchers = [Watcher(self._by_rest, "SSE"), Watcher(self._by_grpc, "gRPC")]
        async with asyncio.TaskGroup() as tasks:
            keeper = tasks.create_task(self._server.keep(self._restarted)) if self._server else None
            hears: list[Callable[[Game | EventBatch], None]] = [self._hear, lambda _news: None]
            at_work = [
                tasks.create_task(watcher.watch(name, hear=hear, resumed=self._resumed))
                for watcher, hear in zip(watchers, hears, strict=True)
            ]
            for watcher in watchers:
                await watcher.seated.wait()
            players = [
                await join(self._by_rest if seat % 2 else self._by_grpc, name, _NAMES[seat], pace_s)
                for seat in range(seats)
            ]
            at_work += [tasks.create_task(player.play()) for player in players]
            await asyncio.wait(at_work)
            views = [await player.view() for player in players]
            final = await Retrying(self._by_rest).get_game(pb.GetGameRequest(name=name))
            if keeper:
                keeper.cancel()
        return Played(self._created, watchers, [player.added for player in players], views, final)

    def kill_check(self) -> list[tuple[str, list[str]]]:
        """The check that is made only where the server shall be killed: that it was, in the middle of the match."""
        if not self._to_kill:
            return []
        late = [] if self._killed_at else [f"it ended at version {self._version}, before the server was killed"]
        return [(f"the match outlived the server that was killed at version {self._killed_at}", late)]

    def _hear(self, news: Game | EventBatch) -> None:
        self._version = news.version
        self._screen.hear(news)
        if self._to_kill and not self._killed_at and self._server and news.version >= KILLED_AT:
            self._killed_at = news.version
            self._server.kill()

    def _resumed(self, watcher: Watcher, after: int) -> None:
        text = f"      the {watcher.how} watcher goes on after version {after}"
        self._screen.say(text, "yellow")

    def _restarted(self, status: int) -> None:
        how = f"was killed by {Signals(status).name}" if status == SIGKILL else f"ended with {status}"
        again = f"rummyd {how} at version {self._version}, and is back on the same ports"
        self._screen.say(f"      {again}, process {self._server.pid if self._server else 0}", "yellow")


def _report(played: Played, screen: Screen, further: list[tuple[str, list[str]]]) -> bool:
    """Shows what came of a match and of each check. Gives whether all is well."""
    result = played.final.view.result
    screen.rest()
    screen.say(f"The match is over after {played.final.version} versions.", "bold")
    found = [*checks(played), *further]
    for name, faults in found:
        screen.check(name, faults)
    for number, seat in enumerate(played.final.seats):
        won = " and wins" if number in result.winners else ""
        screen.say(f"  {seat.display_name:<6} scored {result.scores[number]}{won}")
    return not any(faults for _, faults in found)


async def _create(api: Api, options: Options) -> Game:
    rules = RuleSet(preset=options.game, deals=options.deals or None)
    table = Game(display_name="Demo", rule_set=rules, seat_count=options.seats)
    return await Retrying(api).create_game(pb.CreateGameRequest(game=table))
