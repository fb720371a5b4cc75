"""A match in which everybody asks for all that they may and may not ask for, at a table where all things happen.

Two play, the third misses his first turn, comes back and later leaves, and the fourth seat is a bot's. Strangers look
on. Nobody minds if a slow machine makes more turns time out than the one.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import pytest
from google.protobuf.duration_pb2 import Duration
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from tests.e2e.clients import Client, Failure
from tests.e2e.players import DRAW, Match, Watcher, game_of, new_id, watching

SEATS = 4
SLEEPER = 2
OVERTAKEN = {"VERSION_MISMATCH", "NOT_YOUR_TURN", "WRONG_PHASE", "GAME_OVER"}
"""What a player is refused for where the clock was faster."""


@dataclass
class Party:
    """The players of such a table and the strangers; `watchers` are all their streams, `tokens` those of the seats."""

    match: Match
    strangers: Sequence[Client]
    stack: AsyncExitStack
    tokens: list[str] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    awake: set[int] = field(default_factory=lambda: {*range(SEATS - 1)} - {SLEEPER})

    @classmethod
    async def sit_down(
        cls, stack: AsyncExitStack, clients: Sequence[Client], preset: str, overrides: dict[str, object]
    ) -> "Party":
        """A new table, with the first three of the clients at it, and everybody watching."""
        players, strangers = clients[: SEATS - 1], clients[SEATS - 1 :]
        game = game_of(SEATS, preset, **overrides)
        game.turn_limit.CopyFrom(Game.TurnLimit(turn=Duration(seconds=1), misses=1))
        name = (await strangers[0].create(game)).name
        party = cls(Match(name, players), strangers, stack)
        for player in players:
            party.request_ids.append(new_id())
            party.tokens.append((await player.join(name, request_id=party.request_ids[-1])).token)
        await players[0].add_bot(name)
        for client in clients:
            await party.watch(client)
        return party

    async def watch(self, client: Client) -> None:
        """Has a client watch until the end."""
        self.watchers.append(await self.stack.enter_async_context(watching(client, self.match.name)))

    async def play(self, stride: int) -> None:
        """Plays to the end of the match. After so many moves each, everybody pries."""
        view = (await self.match.players[0].get(self.match.name)).view
        while view.HasField("turn"):
            for _ in range(stride):
                view = await self._move(view)
            pries = (self._pry(client, view.version) for client in [*self.match.players, *self.strangers])
            await asyncio.gather(*pries)
            await self._leave()

    async def _move(self, view: View) -> View:
        """Has the seat to move act, or waits until it was played for."""
        first = self.match.players[0]
        if view.HasField("turn") and view.turn in self.awake:
            try:
                return await self.match.act(view)
            except Failure as failure:
                if failure.reason not in OVERTAKEN:
                    raise
        elif view.HasField("turn"):
            await first.events(self.match.name, after=view.version, wait_s=1)
        game = await first.get(self.match.name)
        if game.seats[SLEEPER].state == Game.Seat.STATE_AWAY:
            self.awake.add(SLEEPER)  # his turn has timed out
        for seat in self.awake:
            # Where all are away the table would wait for one of them.
            if game.view.HasField("turn") and game.seats[seat].state == Game.Seat.STATE_AWAY:
                game = await self.match.players[seat].resume(self.match.name)
        return (await first.get(self.match.name)).view

    async def _leave(self) -> None:
        """Has the sleeper leave, once he has come back."""
        name, sleeper = self.match.name, self.match.players[SLEEPER]
        game = await self.match.players[0].get(name)
        if SLEEPER in self.awake and game.state == Game.STATE_PLAYING:
            self.awake.remove(SLEEPER)
            await sleeper.leave(name)
            await self._pry(sleeper, 2)  # with a token that was revoked
            with pytest.raises(Failure, match="TOKEN_INVALID"):
                await self.watchers.pop(SLEEPER).ended()
            sleeper.token = None
            await self.watch(sleeper)

    async def _pry(self, client: Client, version: int) -> None:
        name, playing = self.match.name, client in self.match.players and client.token is not None
        attempts: list[list[Action]] = [[DRAW], [DRAW, DRAW], *NONSENSE, NONSENSE[0] + [DRAW]]
        for call in (
            client.get(name),
            client.games(page_size=3),
            client.legal(name),
            client.suggestion(name),
            *(client.act(name, actions, validate_only=True) for actions in attempts),
            client.act(name, [DRAW, DRAW]),
            client.get(name),
            client.replay(name),
            client.find("ZZZ ZZZ") if playing else client.rematch(name),
            client.events(name, after=1),
            client.events(name, after=max(1, version - 5)),
            client.start(name),
            client.get(name) if playing else client.join(name),
        ):
            with suppress(Failure):
                await call


NONSENSE = [
    [Action(take=Action.Take(count=1))],
    [Action(lay_down=Action.LayDown(cards=["AS", "AH", "AD"]))],
    [Action(lay_off=Action.LayOff(meld=0, cards=["7C"]))],
    [Action(discard=Action.Discard(card="QD"))],
]
"""What may be legal, and mostly is not."""
