"""Tables to test with: opened, filled, and played at through the use cases."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from msgspec.structs import replace

from engine.actions import Action
from engine.events import Event
from engine.state import State
from service.games.act import Acted, act
from service.games.create import create
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.observe import Observed, observe
from service.games.opening import Wanted
from service.games.seats import join
from service.games.seen import SeenBatch
from service.store.outcome import Answered, Committed, Conflict, Gone, Request
from service.store.store import Store
from service.store.table import Batch, Phase, Table, TableEvent
from tests.strategies import Chooser, eager, rules_of


@dataclass
class Clock:
    """A clock that a test moves. In ms since 1970."""

    now: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


class BusyStore(Store):
    """A store at which something else can happen just before a commit: `meanwhile`, once for each commit."""

    meanwhile: Callable[[Table], Awaitable[object]] | None = None

    async def commit(
        self,
        table: Table,
        batch: Batch,
        request: Request | None = None,
        *,
        record: Sequence[str] = (),
        due_ms: int | None = None,
    ) -> Committed | Answered | Conflict | Gone:
        """Commits, after what happens meanwhile."""
        if self.meanwhile:
            await self.meanwhile(table)
        return await super().commit(table, batch, request, record=record, due_ms=due_ms)


@dataclass
class Match:
    """A table at which the match is being played, with its players' tokens by seat."""

    desk: Desk
    game: str
    tokens: list[str]
    chance: random.Random = field(default_factory=lambda: random.Random(3))  # noqa: S311  the same in every run

    async def table(self) -> Table:
        """The table as it is stored."""
        return await stored(self.desk, self.game)

    async def state(self) -> State:
        """The state of the match."""
        state = (await self.table()).match
        assert state is not None
        return state

    async def turn(self) -> tuple[int, str]:
        """The seat to move, and its token."""
        seat = (await self.state()).turn
        return seat, self.tokens[seat]

    async def act(self, seat: int, *actions: Action, request_id: str = "", expected: int | None = None) -> Acted:
        """Some actions of a seat, as one request."""
        return await act(
            self.desk, self.game, self.tokens[seat], actions, request_id=request_id, expected_version=expected
        )

    async def move(self, choose: Chooser = eager) -> Acted:
        """One action of the seat to move."""
        state = await self.state()
        return await self.act(state.turn, choose(state, self.chance))

    async def to_the_end(self, choose: Chooser = eager, most: int = 3000) -> None:
        """The rest of the match."""
        for _ in range(most):
            if (await self.table()).phase is not Phase.PLAYING:
                return
            await self.move(choose)
        raise AssertionError("the match did not end")


async def stored(desk: Desk, game: str) -> Table:
    """The table as it is stored."""
    loaded = await desk.store.load(game)
    assert loaded is not None
    return loaded.table


async def opened(
    desk: Desk, seat_count: int = 2, preset: str = "basic", *, request_id: str = "", **overrides: object
) -> Table:
    """A table just created. The overrides are those of `wanted_of`."""
    return await _created(desk, seat_count, preset, overrides, request_id)


async def joined(desk: Desk, game: str, players: int) -> list[str]:
    """The tokens of so many players, who take the lowest free seats one after the other."""
    return [
        (await join(desk, game, display_name=f"player {number}", seat=None, request_id="")).token
        for number in range(players)
    ]


async def playing(desk: Desk, seat_count: int = 2, preset: str = "basic", **overrides: object) -> Match:
    """A match that has just begun. The overrides are those of `wanted_of`."""
    table = await _created(desk, seat_count, preset, overrides)
    return Match(desk, table.game, await joined(desk, table.game, seat_count))


async def put_down(desk: Desk, table: Table, *events: TableEvent | Event, **changes: object) -> Table:
    """A table's next version, put into the store as another process would."""
    after = replace(table, version=table.version + 1, **changes)
    batch = Batch(version=after.version, time_ms=after.updated_ms, actor=None, events=events)
    outcome = await desk.store.commit(after, batch)
    assert isinstance(outcome, Committed)
    return outcome.table


async def watching(
    desk: Desk,
    game: str,
    token: str | None = None,
    *,
    after: int = 0,
    epoch: str = "",
    mark: bytes = b"",
    heartbeat_s: float = 60.0,
) -> AsyncGenerator[Observed]:
    """What a watcher is given; to be closed. To wait for ever is to fail."""
    watch = observe(desk, game, token, after=after, epoch=epoch, mark=mark, heartbeat_s=heartbeat_s)
    async with aclosing(watch) as items:
        while True:
            try:
                async with asyncio.timeout(60):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            yield item


async def watched(
    desk: Desk, game: str, token: str | None = None, *, after: int = 0, epoch: str = ""
) -> list[Observed]:
    """All that a watcher is given of a match that is over."""
    async with aclosing(watching(desk, game, token, after=after, epoch=epoch)) as stream:
        return [item async for item in stream]


def events_of(items: Sequence[Observed]) -> list[TableEvent | Event]:
    """The events of all batches."""
    return [event for item in items if isinstance(item, SeenBatch) for event in item.events]


def refused(reason: GameReason) -> pytest.RaisesExc[GameError]:
    """Expects a refusal for this reason."""
    return pytest.raises(GameError, check=lambda error: error.reason is reason)


class NoPermit(Exception):
    """There is none left."""


class Permits:
    """So many tables may be put up."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> Callable[[], None]:
        if not self.left:
            raise NoPermit
        self.left -= 1
        return self._give_back

    def _give_back(self) -> None:
        self.left += 1


def new_request_id() -> str:
    """A request id as a client makes it."""
    return str(uuid4())


def wanted_of(seat_count: int = 2, preset: str = "basic", **overrides: object) -> Wanted:
    """A table that is asked for. Overrides are fields of the table (`limit`, `private`, …) or of its rules."""
    of_table = {name: value for name, value in overrides.items() if name in Wanted.__struct_fields__}
    rules = rules_of(preset, **{name: value for name, value in overrides.items() if name not in of_table})
    return replace(Wanted(preset=preset, rules=rules, seat_count=seat_count, display_name="Kitchen"), **of_table)


async def _created(
    desk: Desk, seat_count: int, preset: str, overrides: Mapping[str, object], request_id: str = ""
) -> Table:
    return await create(desk, wanted_of(seat_count, preset, **overrides), request_id=request_id)
