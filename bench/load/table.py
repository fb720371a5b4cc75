"""A table whose seats are all the driver's: it draws, and discards the first card that it may.

await table.sit_down()       and again, by itself, when a match is over
await table.watch()          from now on each seat follows it by a stream of its own
await table.act(due)         one act of the seat to move
"""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import Options, View

from bench.load.tally import Tally, now
from clients.api import Api, CallError

__all__ = ["Table"]

_REMEMBERED: Final = 16
"""Versions whose sending is remembered until a stream tells of them."""


class Table:
    """One place for a match after the other. `apis` are those of its seats, `game` what CreateGame is asked for.

    What it does is counted in `tally`, which may be changed.
    """

    def __init__(self, apis: Sequence[Api], game: Game, tally: Tally) -> None:
        self.tally = tally
        self.name = ""
        self._apis, self._game = apis, game
        self._tokens: list[str] = []
        self._watched = False
        self._streams: list[asyncio.Task[None]] = []
        self._sent: dict[int, tuple[float, float, int]] = {}
        """When the act that makes a version was due, when it was sent, and by which seat."""
        self._view, self._seat = View(), 0

    async def sit_down(self) -> None:
        """Creates a table, takes its seats and, if the last one was watched, watches it, too. Raises CallError."""
        await self.leave()
        create = pb.CreateGameRequest(game=self._game, request_id=_id())
        self.name, self._tokens = (await self._apis[0].create_game(create)).name, []
        for seat in range(self._game.seat_count):
            join = pb.JoinGameRequest(name=self.name, display_name=f"Player {seat}", request_id=_id())
            joined = await self._apis[seat].join_game(join)
            self._tokens.append(joined.token)
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
        except CallError as error:
            self.tally.errors[f"act {error.code}"] += 1
            self._view = View()

    async def _act(self, seat: int, due: float) -> None:
        if self._seat != seat and not self._view.stock_size:
            await self._look(seat)
        options = self._view.options if self._view.HasField("options") else None
        request = pb.ActRequest(name=self.name, actions=[_choice(options)], request_id=_id())
        version, sent = self._view.version + 1, now()
        self._sent[version] = due, sent, seat
        self._sent.pop(version - _REMEMBERED, None)
        answer = await self._apis[seat].act(request, self._tokens[seat])
        answered = now()
        self.tally.acts += 1
        self.tally.from_due.add(answered - due)
        self.tally.from_send.add(answered - sent)
        self._saw(answer.view, seat)

    async def _look(self, seat: int) -> None:
        request = pb.GetGameRequest(name=self.name)
        game = await self._apis[seat].get_game(request, self._tokens[seat])
        self._saw(game.view, seat)

    def _saw(self, view: View, seat: int) -> None:
        self._view, self._seat = view, seat

    async def _observe(self, seat: int, begun: asyncio.Event) -> None:
        """Follows the table as one of its seats."""
        stream = self._apis[seat].observe(pb.ObserveRequest(name=self.name), self._tokens[seat])
        try:
            async with aclosing(stream):
                async for message in stream:
                    begun.set()
                    if message.HasField("batch"):
                        self.tally.delivered += 1
                        due, sent, actor = self._sent.get(message.batch.version, (0.0, 0.0, seat))
                        if actor != seat:
                            told = now()
                            self.tally.to_observer_from_due.add(told - due)
                            self.tally.to_observer.add(told - sent)
        except CallError as error:
            self.tally.errors[f"observe {error.code}"] += 1
        finally:
            begun.set()


def _choice(options: Options | None) -> Action:
    """What to do with these options; where they are not known, at the beginning of a turn with a stock, a draw."""
    if options is None or options.draw:
        return Action(draw=Action.Draw())
    if options.discard:
        return Action(discard=Action.Discard(card=options.discard[0]))
    if options.take:
        return Action(take=Action.Take(count=options.take[0]))
    return Action(pass_turn=Action.Pass())


def _id() -> str:
    return str(uuid.uuid4())
