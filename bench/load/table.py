"""A table whose seats are all the driver's: it draws, and discards the first card that it may.

await table.sit_down()       and again, by itself, when a match is over
await table.watch()          from now on each seat follows it by a stream of its own
await table.act(due)         one act of the seat to move
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub
from rummy.v1.view_pb2 import Options, View

from bench.load.tally import Tally, now

if TYPE_CHECKING:  # the stubs have it, the code does not
    from rummy.v1.game_service_pb2_grpc import GameServiceAsyncStub

__all__ = ["Connection", "Table"]

_TIMEOUT_S: Final = 30.0
"""Longer than any call should take under load; what takes longer is an error."""
_REMEMBERED: Final = 16
"""Versions whose sending is remembered until a stream tells of them."""


class Connection:
    """A connection of its own to a server, at `HOST:PORT`."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub: GameServiceAsyncStub = GameServiceStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)

    async def null(self, due: float, tally: Tally) -> None:
        """The null baseline: the same way there and back, and nothing done."""
        try:
            await self._health.Check(health_pb2.HealthCheckRequest(), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            tally.errors[f"null call {error.code().name}"] += 1
        else:
            tally.nulls += 1
            tally.null.add(now() - due)

    async def open(self) -> None:
        """Connects now, where a first call would. Waits until there is somebody."""
        await self._channel.channel_ready()

    async def close(self) -> None:
        """Ends it, with all that goes on over it."""
        await self._channel.close()


class Table:
    """One place for a match after the other. `connections` are those of its seats, `game` what CreateGame is asked for.

    What it does is counted in `tally`, which may be changed.
    """

    def __init__(self, connections: Sequence[Connection], game: Game, tally: Tally) -> None:
        self.tally = tally
        self.name = ""
        self._connections, self._game = connections, game
        self._tokens: list[tuple[tuple[str, str]]] = []
        self._watched = False
        self._streams: list[asyncio.Task[None]] = []
        self._sent: dict[int, tuple[float, int]] = {}
        self._view, self._seat = View(), 0

    async def sit_down(self) -> None:
        """Creates a table, takes its seats and, if the last one was watched, watches it, too. Raises AioRpcError."""
        await self.leave()
        create = pb.CreateGameRequest(game=self._game, request_id=_id())
        self.name, self._tokens = (await self._stub(0).CreateGame(create, timeout=_TIMEOUT_S)).name, []
        for seat in range(self._game.seat_count):
            join = pb.JoinGameRequest(name=self.name, display_name=f"Player {seat}", request_id=_id())
            joined = await self._stub(seat).JoinGame(join, timeout=_TIMEOUT_S)
            self._tokens.append((("authorization", f"Bearer {joined.token}"),))
            self._saw(joined.game.view, seat)
        self.tally.tables += 1
        if self._watched:
            await self.watch()

    async def watch(self) -> None:
        """Opens a stream for every seat, and waits for the first message of each."""
        self._watched = True
        begun = [asyncio.Event() for _ in self._tokens]
        self._streams = [asyncio.create_task(self._observe(seat, event)) for seat, event in enumerate(begun)]
        await asyncio.gather(*(event.wait() for event in begun))

    async def leave(self) -> None:
        """Ends the streams. The table stays."""
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
        self._streams, self._sent = [], {}

    @property
    def version(self) -> int:
        """The table's version, as far as is known: how often anything was done there."""
        return self._view.version

    async def act(self, due: float) -> None:
        """One act of the seat to move, which was to be sent at `due`. After an error, counted, it is another table."""
        try:
            if not self._view.HasField("turn"):
                await self.sit_down()
            await self._act(self._view.turn, due)
        except grpc.aio.AioRpcError as error:
            self.tally.errors[f"act {error.code().name}"] += 1
            self._view = View()

    async def _act(self, seat: int, due: float) -> None:
        if self._seat != seat and not self._view.stock_count:
            await self._look(seat)
        options = self._view.options if self._view.HasField("options") else None
        request = pb.ActRequest(name=self.name, actions=[_choice(options)], request_id=_id())
        version, sent = self._view.version + 1, now()
        self._sent[version] = sent, seat
        self._sent.pop(version - _REMEMBERED, None)
        answer = await self._stub(seat).Act(request, metadata=self._tokens[seat], timeout=_TIMEOUT_S)
        answered = now()
        self.tally.acts += 1
        self.tally.from_due.add(answered - due)
        self.tally.from_send.add(answered - sent)
        self._saw(answer.view, seat)

    async def _look(self, seat: int) -> None:
        request = pb.GetGameRequest(name=self.name)
        game = await self._stub(seat).GetGame(request, metadata=self._tokens[seat], timeout=_TIMEOUT_S)
        self._saw(game.view, seat)

    def _saw(self, view: View, seat: int) -> None:
        self._view, self._seat = view, seat

    async def _observe(self, seat: int, begun: asyncio.Event) -> None:
        """Follows the table as one of its seats."""
        request = pb.ObserveRequest(name=self.name)
        try:
            async for message in self._stub(seat).Observe(request, metadata=self._tokens[seat]):
                begun.set()
                if message.HasField("batch"):
                    self.tally.delivered += 1
                    sent, actor = self._sent.get(message.batch.version, (0.0, seat))
                    if actor != seat:
                        self.tally.to_observer.add(now() - sent)
        except grpc.aio.AioRpcError as error:
            self.tally.errors[f"observe {error.code().name}"] += 1
        finally:
            begun.set()

    def _stub(self, seat: int) -> "GameServiceAsyncStub":
        return self._connections[seat].stub


def _choice(options: Options | None) -> Action:
    """What to do with these options; where they are not known, at the beginning of a turn with a stock, a draw."""
    if options is None or options.draw:
        return Action(draw=Action.Draw())
    if options.discard:
        return Action(discard=Action.Discard(card=options.discard[0]))
    if options.take:
        return Action(take=Action.Take(count=options.take[0]))
    return Action(**{"pass": Action.Pass()})  # type: ignore[arg-type]  # the field's name is a word of Python


def _id() -> str:
    return str(uuid.uuid4())
