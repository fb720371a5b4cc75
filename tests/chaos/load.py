"""Players who behave as clients on bad networks do: they hang up, send twice, send late, send two acts for one turn.

await play_table(api, plan, chance, record)     a whole match, with everything that was sent and told

Some are slow as well, some leave, and some play against bots. Whatever they do they retry by `clients.retry` alone,
with the request id of the first try.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from google.protobuf.duration_pb2 import Duration
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from clients.api import Api, CallError
from clients.demo.policy import choose
from clients.retry import followed, polled, retried
from tests.chaos.record import Ask, TableRecord, Watched
from tests.chaos.seating import Seating, new_id

PATIENCE_S = 60.0
END_S = 90.0
"""What is not over by then hangs."""


@dataclass(frozen=True)
class Plan:
    """What is to be played, and how those who play come to the table.

    `bots`: so many of the seats. `quick`: by QuickJoin; `game` is then alike no other's. `again`: those of that table
    meet once more. `slow_s`: how long a player takes now and then. `leaves`: the player of the last seat leaves.
    """

    game: Game
    bots: int = 0
    quick: bool = False
    again: TableRecord | None = None
    slow_s: float = 0.0
    leaves: bool = False


async def play_table(api: Api, plan: Plan, chance: random.Random, record: TableRecord, *, watchers: int = 1) -> None:
    """Plays a match at a table to its end, and watches it from every player's seat and as `watchers` spectators."""
    seating = Seating(api, chance, record)
    if plan.again:
        await seating.play_again(plan.again)
    elif plan.quick:
        await seating.quick_join(plan.game)
    else:
        await seating.join(plan.game, bots=plan.bots)
    table = Hand(api, chance, record, slow_s=plan.slow_s, leaves=plan.leaves)
    record.watched += [Watched(seat) for seat in (*range(len(record.tokens)), *[None] * watchers)]
    async with asyncio.TaskGroup() as group:
        begun = asyncio.Barrier(len(record.watched) + 1)
        for watched in record.watched:
            group.create_task(table.watch(watched, begun))
        await begun.wait()
        await table.play()


class Hand:
    """All the hands at one table. `slow_s` and `leaves` are as in a `Plan`."""

    def __init__(
        self, api: Api, chance: random.Random, record: TableRecord, *, slow_s: float = 0.0, leaves: bool = False
    ) -> None:
        self._api, self._chance, self._record = api, chance, record
        self._slow_s, self._leaves = slow_s, leaves
        self._sent: list[tuple[Ask, pb.ActRequest]] = []

    async def watch(self, watched: Watched, begun: asyncio.Barrier) -> None:
        """Follows the table to the end of its match, over as many streams as it takes; the first seat polls."""

        def resumed(_after: int) -> None:
            watched.resumed += 1

        token = "" if watched.seat is None else self._record.tokens[watched.seat]
        follow = polled if watched.seat == 0 else partial(followed, resumed=resumed)
        try:
            async with (
                asyncio.timeout(None) as deadline,
                aclosing(follow(self._api, self._record.name, token, patience_s=PATIENCE_S)) as news,
            ):
                async for item in news:
                    if not watched.told:
                        await begun.wait()
                    watched.told.append(item)
                    deadline.reschedule(asyncio.get_running_loop().time() + END_S)
        except CallError as error:
            if watched.seat is None or watched.seat != self._record.left or error.reason != "TOKEN_INVALID":
                raise

    async def play(self) -> None:
        """Plays until the match is over."""
        view = await self._look(0)
        while view.HasField("turn"):
            seat = view.turn
            if seat >= len(self._record.tokens) or seat == self._record.left:
                view = await self._awaited(view.version)
                continue
            if not view.HasField("options"):
                view = await self._look(seat)
                continue
            view = await self._turn(seat, view)
            if self._sent and self._chance.random() < 0.05:
                late = self._chance.choice(self._sent)  # long after its answer
                if late[0].seat != self._record.left:
                    await self._send(*late)

    async def _turn(self, seat: int, view: View) -> View:
        """What the player of a seat does when it is his turn, by his view; gives a newer one."""
        if self._leaves and len(self._record.asks) > 12 and self._record.left is None:
            return await self._leave(len(self._record.tokens) - 1)
        if self._slow_s and self._chance.random() < 0.04:
            return await self._think(seat)
        try:
            action = await choose(view, partial(self._legal, seat, view.version))
        except _Late:
            return await self._look(seat)
        return await self._act(seat, view, action) or await self._look(seat)

    async def act_some(self, acts: int, patience_s: float = PATIENCE_S) -> None:
        """Does so many acts, each once; stops at the first that is not acknowledged within the patience."""
        view = await self._look(0)
        for _ in range(acts):
            if not view.HasField("options"):
                view = await self._look(view.turn)
            seat = view.turn
            answer = await self._send(
                *self._ask(seat, view, await choose(view, partial(self._legal, seat, view.version))), patience_s
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

    async def _think(self, seat: int) -> View:
        """A player takes his time; if that was too long, he may say that he is back."""
        await asyncio.sleep(self._chance.uniform(0.5, 1.5) * self._slow_s)
        if self._chance.random() < 0.5:
            await self._resume(seat)
        return await self._look(seat)

    async def _resume(self, seat: int) -> None:
        """A player says that he is there."""
        request = pb.ResumeSeatRequest(name=self._record.name, request_id=self._called(seat))
        await self._unless_over(partial(self._api.resume_seat, request, self._record.tokens[seat]))

    async def _leave(self, seat: int) -> View:
        """A player gives up his seat, twice."""
        self._record.left = seat
        request = pb.LeaveGameRequest(name=self._record.name, request_id=self._called(seat))
        for _ in range(2):
            await self._unless_over(partial(self._api.leave_game, request, self._record.tokens[seat]))
        return await self._look(0)

    async def _unless_over(self, call: Callable[[], Awaitable[Game]]) -> None:
        """Makes a call; others may have played the match to its end by then."""
        try:
            await retried(call)
        except CallError as error:
            if error.reason != "GAME_OVER":
                raise

    def _called(self, seat: int) -> str:
        """The id of a request of a seat that is no act."""
        request_id = new_id(self._chance)
        self._record.calls[request_id] = seat
        return request_id

    async def _awaited(self, version: int) -> View:
        """The view of the first seat when something has happened after this version.

        Its player comes back if he is away: where all are, nothing happens any more.
        """
        game = await retried(partial(self._api.get_game, pb.GetGameRequest(name=self._record.name)))
        if game.seats[0].state == Game.Seat.STATE_AWAY:
            await self._resume(0)
        request = pb.ListEventsRequest(name=self._record.name, after=version, wait=Duration(seconds=10))
        await retried(partial(self._api.list_events, request, self._record.tokens[0]))
        return await self._look(0)

    def _ask(self, seat: int, view: View, action: Action) -> tuple[Ask, pb.ActRequest]:
        ask = Ask(new_id(self._chance), seat, view.version)
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

    async def _legal(self, seat: int, version: int) -> AsyncIterator[Action]:
        request = pb.ListLegalActionsRequest(name=self._record.name, page_size=100)
        call = partial(self._api.list_legal_actions, request, self._record.tokens[seat])
        legal = await retried(call)
        if legal.version != version:
            raise _Late
        for action in legal.actions:
            yield action


class _Late(Exception):
    """The game has gone on since: the player was too slow."""
