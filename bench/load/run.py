"""One measurement: a server, tables, and work for it at a pace.

outcome = await measure(server, plan)
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple, TypeVar

from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet

from bench.load.connection import Connection, Front, connect
from bench.load.meters import Meters, Reading
from bench.load.pace import Pace, Work, closed, opened
from bench.load.server import Server
from bench.load.table import Table
from bench.load.tally import Tally, now
from clients.api import CallError

__all__ = ["Filling", "Outcome", "Plan", "measure"]

_WARM_S: Final = 1.0
_MOST_WARM: Final = 5_000
_IDLE_S: Final = 5.0
_FEW: Final = 8
_AT_ONCE: Final = 32
_SAMPLE: Final = 50
"""Tables whose bytes in Redis are asked for."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to a server. `rate` is acts a second; without one, each table acts as soon as it may."""

    tables: int = 32
    seats: int = 2
    preset: str = "basic"
    streams: bool = True
    seconds: float = 10.0
    most: int = 100_000
    rate: float | None = None
    connections: int = 8
    """Over how many connections calls and streams go. 0: each seat has one of its own, as players have."""
    front: Front = "grpc"
    """Over REST a stream takes a further connection."""

    @property
    def pace(self) -> Pace:
        """How work is put to it."""
        return opened(self.rate) if self.rate else closed


class Filling(NamedTuple):
    """The server's memory in bytes: warm, with a few tables; and with all connections, with all tables, all streams."""

    few: float
    connections: float
    tables: float
    streams: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: what was counted, what was used meanwhile, and what tables and streams take."""

    plan: Plan
    tally: Tally
    used: Reading
    """In the time of the acts."""
    null: Reading
    """In the time of the null baseline."""
    idle: Reading
    """In a time without any call, with all tables and streams there."""
    server_bytes: Filling
    """The server's memory."""
    table_bytes: float
    """What a table takes in Redis, on average, at the end."""
    versions: float
    """How many versions such a table has had."""


async def measure(server: Server, plan: Plan) -> Outcome:
    """Does it. Raises CallError where no table can be sat at, and OSError where the metrics are not to be had."""
    async with AsyncExitStack() as stack:
        meters = Meters(server.metrics, server.redis)
        stack.callback(meters.close)
        connections = [connect(server, plan.front) for _ in range(plan.connections or plan.tables * plan.seats)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        setup = Tally()
        tables = _tables(connections, plan, setup)
        stack.push_async_callback(_each, tables, Table.leave)
        memory = await _fill(meters, connections, tables, streams=plan.streams)
        idle = await _using(meters, asyncio.sleep(_IDLE_S))
        tally = Tally(errors=setup.errors)
        for table in tables:
            table.tally = tally
        nulls = [_null(connections[number % len(connections)], tally) for number in range(plan.tables)]
        null = await _using(meters, plan.pace(nulls, plan.seconds / 4, plan.most))
        used = await _using(meters, _acts(tables, plan, tally))
        null += await _using(meters, plan.pace(nulls, plan.seconds / 4, plan.most))
        sample = tables[:_SAMPLE]
        kept = fmean(await meters.table_bytes(table.name for table in sample))
        return Outcome(plan, tally, used, null, idle, memory, kept, fmean(table.version for table in sample))


def _tables(connections: Sequence[Connection], plan: Plan, tally: Tally) -> list[Table]:
    """The places to play at, each seat with the next connection, round and round."""
    turns = itertools.cycle(connection.api for connection in connections)
    game = Game(seat_count=plan.seats, rule_set=RuleSet(preset=plan.preset))
    return [Table([next(turns) for _ in range(plan.seats)], game, tally) for _ in range(plan.tables)]


async def _fill(
    meters: Meters, connections: Sequence[Connection], tables: Sequence[Table], *, streams: bool
) -> Filling:
    """Sits at all tables, and plays a little; what memory the server has on the way."""
    few, others = tables[:_FEW], tables[_FEW:]
    await _each(few, Table.sit_down)
    await closed([table.act for table in few], _WARM_S, _MOST_WARM)
    memory = [(await meters.read()).server_bytes]
    await _each(connections, lambda connection: connection.null())
    memory.append((await meters.read()).server_bytes)
    await _each(others, Table.sit_down)
    await closed([table.act for table in others], _WARM_S, 2 * len(others))
    memory.append((await meters.read()).server_bytes)
    if streams:
        await _each(tables, Table.watch)
    memory.append((await meters.read()).server_bytes)
    return Filling(*memory)


async def _each(all_: Iterable[_T], do: Callable[[_T], Awaitable[None]]) -> None:
    """Does something with each, with some of them at a time."""
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def one(thing: _T) -> None:
        async with at_once:
            await do(thing)

    await asyncio.gather(*map(one, all_))


async def _acts(tables: Sequence[Table], plan: Plan, tally: Tally) -> None:
    left = await plan.pace([table.act for table in tables], plan.seconds, plan.most)
    if left:
        tally.errors["act not sent in time"] += left


async def _using(meters: Meters, work: Awaitable[object]) -> Reading:
    """What is used while the work is done."""
    before = await meters.read()
    await work
    return await meters.read() - before


def _null(connection: Connection, tally: Tally) -> Work:
    async def null(due: float) -> None:
        try:
            await connection.null()
        except CallError as error:
            tally.errors[f"null call {error.code}"] += 1
        else:
            tally.nulls += 1
            tally.null.add(now() - due)

    return null
