"""Ways to a table, in which some calls are sent more than once: each must lead the same player to the same seat.

await Seating(api, chance, record).join(game, bots=1)     a table is created, its seats are taken, the last by a bot
await Seating(api, chance, record).quick_join(game)       all seats of an open table that none else asks for
await Seating(api, chance, record).play_again(before)     those of another record's table meet again
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

from clients.api import Api
from clients.retry import retried
from tests.chaos.record import TableRecord

Answer = TypeVar("Answer")


class Seating:
    """The players of one table, who sit down. This share of the calls (`repeats`) is sent three times."""

    def __init__(self, api: Api, chance: random.Random, record: TableRecord, repeats: float = 0.3) -> None:
        self._api, self._chance, self._record, self._repeats = api, chance, record, repeats

    async def join(self, game: Game, *, bots: int = 0) -> None:
        """Creates the table and takes every seat; the last ones are for bots."""
        create = pb.CreateGameRequest(game=game, request_id=new_id(self._chance))
        created = await self._sent(partial(self._api.create_game, create))
        self._record.name = created[0].name
        self._hold({table.name for table in created} == {self._record.name}, "a repeated create made another table")
        for seat in range(game.seat_count - bots):
            request = pb.JoinGameRequest(name=self._record.name, display_name=f"Player {seat}", request_id=self._id())
            self._took(seat, await self._sent(partial(self._api.join_game, request)))
        for number in range(1, bots + 1):
            call = partial(self._api.add_bot, pb.AddBotRequest(name=self._record.name, request_id=self._id()))
            told = await self._sent(partial(call, self._record.tokens[0]))
            self._hold({sum(seat.bot for seat in table.seats) for table in told} == {number}, "a bot was added twice")

    async def quick_join(self, game: Game) -> None:
        """Takes every seat of a table that is led to; `game` is alike no other's."""
        for seat in range(game.seat_count):
            request = pb.QuickJoinRequest(game=game, display_name=f"Player {seat}", request_id=self._id())
            joined = await self._sent(partial(self._api.quick_join, request))
            self._record.name = self._record.name or joined[0].game.name
            self._took(seat, joined)

    async def play_again(self, before: TableRecord) -> None:
        """All players of a match that is over ask for a rematch at the same time."""
        requests = [pb.RematchRequest(name=before.name, request_id=self._id()) for _ in before.tokens]
        calls = [
            partial(self._api.rematch, request, token) for request, token in zip(requests, before.tokens, strict=True)
        ]
        answers = await asyncio.gather(*(self._sent(call) for call in calls))
        self._record.name = answers[0][0].game.name
        for seat, joined in enumerate(answers):
            self._took(seat, joined)

    async def _sent(self, call: Callable[[], Awaitable[Answer]]) -> list[Answer]:
        """The answers to a call that is sent once, or three times."""
        answers = [await retried(call)]
        if self._chance.random() < self._repeats:
            answers += await asyncio.gather(*(retried(call) for _ in range(2)))
        return answers

    def _took(self, seat: int, joined: list[pb.JoinGameResponse]) -> None:
        told = {(answer.game.name, answer.seat, answer.token) for answer in joined}
        self._hold(told == {(self._record.name, seat, joined[0].token)}, f"the player of seat {seat} was led to {told}")
        self._record.tokens.append(joined[0].token)

    def _hold(self, so: bool, otherwise: str) -> None:
        if not so:
            self._record.faults.append(otherwise)

    def _id(self) -> str:
        return new_id(self._chance)


def new_id(chance: random.Random) -> str:
    """A request id."""
    return str(UUID(int=chance.getrandbits(128), version=4))
