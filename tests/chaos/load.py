"""Players who behave as clients on bad networks do: they hang up, send twice, send late, send two acts for one turn.

table = await play_table(api, game, chance)     a whole match, with everything that was sent and told

Whatever they do they retry by `clients.retry` alone, with the request id of the first try.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from uuid import UUID

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from clients.api import Api, CallError
from clients.demo.policy import choose
from clients.retry import followed, polled, retried
from tests.chaos.record import Ask, TableRecord, Watched

PATIENCE_S = 60.0
END_S = 90.0
"""What is not over by then hangs."""


async def play_table(api: Api, game: Game, chance: random.Random, record: TableRecord, *, watchers: int = 1) -> None:
    """Creates a table, plays a match there to its end, and watches it from every seat and as `watchers` spectators."""
    table = Hand(api, chance, record)
    await table.sit_down(game)
    record.watched += [Watched(seat) for seat in (*range(game.seat_count), *[None] * watchers)]
    async with asyncio.TaskGroup() as group:
        begun = asyncio.Barrier(len(record.watched) + 1)
        for watched in record.watched:
            group.create_task(table.watch(watched, begun))
        await begun.wait()
        await table.play()


class Hand:
    """All the hands at one table."""

    def __init__(self, api: Api, chance: random.Random, record: TableRecord) -> None:
        self._api, self._chance, self._record = api, chance, record
        self._sent: list[tuple[Ask, pb.ActRequest]] = []

    async def sit_down(self, game: Game, repeats: float = 0.3) -> None:
        """Creates the table and takes every seat; this share of the calls is sent more than once."""
        create = pb.CreateGameRequest(game=game, request_id=self._new_id())
        name = (await retried(partial(self._api.create_game, create))).name
        if self._chance.random() < repeats and (await retried(partial(self._api.create_game, create))).name != name:
            self._record.faults.append("a repeated create made another table")
        self._record.name = name
        for seat in range(game.seat_count):
            join = pb.JoinGameRequest(name=name, display_name=f"Player {seat}", request_id=self._new_id())
            joined = [await retried(partial(self._api.join_game, join))]
            if self._chance.random() < repeats:
                joined += await asyncio.gather(*(retried(partial(self._api.join_game, join)) for _ in range(2)))
            if {(answer.seat, answer.token) for answer in joined} != {(seat, joined[0].token)}:
                self._record.faults.append(f"the join of seat {seat} gave seats {[answer.seat for answer in joined]}")
            self._record.tokens.append(joined[0].token)

    async def watch(self, watched: Watched, begun: asyncio.Barrier) -> None:
        """Follows the table to the end of its match, over as many streams as it takes; the first seat polls."""

        def resumed(_after: int) -> None:
            watched.resumed += 1

        token = "" if watched.seat is None else self._record.tokens[watched.seat]
        follow = polled if watched.seat == 0 else partial(followed, resumed=resumed)
        async with (
            asyncio.timeout(None) as deadline,
            aclosing(follow(self._api, self._record.name, token, patience_s=PATIENCE_S)) as news,
        ):
            async for item in news:
                if not watched.told:
                    await begun.wait()
                watched.told.append(item)
                deadline.reschedule(asyncio.get_running_loop().time() + END_S)

    async def play(self) -> None:
        """Plays until the match is over."""
        view = await self._look(0)
        while view.HasField("turn"):
            seat = view.turn
            if not view.HasField("options"):
                view = await self._look(seat)
                continue
            action = await choose(view, partial(self._legal, seat))
            view = await self._act(seat, view, action) or await self._look(seat)
            if self._sent and self._chance.random() < 0.05:
                await self._send(*self._chance.choice(self._sent))  # long after its answer

    async def act_some(self, acts: int, patience_s: float = PATIENCE_S) -> None:
        """Does so many acts, each once; stops at the first that is not acknowledged within the patience."""
        view = await self._look(0)
        for _ in range(acts):
            if not view.HasField("options"):
                view = await self._look(view.turn)
            seat = view.turn
            answer = await self._send(
                *self._ask(seat, view, await choose(view, partial(self._legal, seat))), patience_s
            )
            if answer is None:
                return
            view = answer.view

    async def told(self) -> None:
        """Waits until every watcher has been told of the table as it is now."""
        game = await retried(partial(self._api.get_game, pb.GetGameRequest(name=self._record.name)))
        async with asyncio.timeout(PATIENCE_S):
            while any(watched.told[-1].version < game.version for watched in self._record.watched):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def _act(self, seat: int, view: View, action: Action) -> View | None:
        """Does one action, in one of the ways that clients do; gives the view if it was told."""
        mine = self._ask(seat, view, action)
        way = self._chance.random()
        if way < 0.10:
            await self._hang_up(*mine)
        elif way < 0.20:
            self._record.repeated += 2
            await asyncio.gather(*(self._send(*mine) for _ in range(3)))
        elif way < 0.25:
            rival = self._ask(seat, view, action)
            await asyncio.gather(self._send(*mine), self._send(*rival))
            return None
        started = time.monotonic()
        answer = await self._send(*mine)
        self._record.slowest_s = max(self._record.slowest_s, time.monotonic() - started)
        return answer.view if answer else None

    def _ask(self, seat: int, view: View, action: Action) -> tuple[Ask, pb.ActRequest]:
        ask = Ask(self._new_id(), seat, view.version)
        self._record.asks.append(ask)
        request = pb.ActRequest(
            name=self._record.name, actions=[action], request_id=ask.request_id, expected_version=view.version
        )
        self._sent.append((ask, request))
        return ask, request

    async def _send(self, ask: Ask, request: pb.ActRequest, patience_s: float = PATIENCE_S) -> pb.ActResponse | None:
        """Sends an act until it is answered, and keeps the answer."""
        try:
            answer = await retried(
                partial(self._api.act, request, self._record.tokens[ask.seat]), patience_s=patience_s
            )
        except CallError as error:
            if error.worth_a_retry:
                ask.given_up = str(error)
            else:
                ask.refused = str(error)
            return None
        ask.answers.append(answer)
        return answer

    async def _hang_up(self, ask: Ask, request: pb.ActRequest) -> None:
        """Sends an act once, and drops the connection before its answer, or as it comes."""
        self._record.hung_up += 1
        self._record.repeated += 1
        sending = asyncio.create_task(self._api.act(request, self._record.tokens[ask.seat]))
        await asyncio.wait([sending], timeout=self._chance.uniform(0.0, 0.01))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    async def _look(self, seat: int) -> View:
        request = pb.GetGameRequest(name=self._record.name)
        return (await retried(partial(self._api.get_game, request, self._record.tokens[seat]))).view

    async def _legal(self, seat: int) -> AsyncIterator[Action]:
        request = pb.ListLegalActionsRequest(name=self._record.name, page_size=100)
        call = partial(self._api.list_legal_actions, request, self._record.tokens[seat])
        for action in (await retried(call)).actions:
            yield action

    def _new_id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))
