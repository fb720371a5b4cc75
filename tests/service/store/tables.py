"""Tables and batches for the tests of the store."""

import itertools
from collections.abc import Sequence

from msgspec.structs import replace

from engine.presets import PRESETS
from service.store.outcome import Committed, Created, Request
from service.store.store import Store
from service.store.table import Batch, Phase, Seat, SeatJoined, Table

_numbers = itertools.count(1)


def new_table(game: str | None = None, **changes: object) -> Table:
    """A table just created, of a game with an id of its own."""
    number = next(_numbers)
    table = Table(
        game=game or f"game{number}",
        epoch=f"epoch{number}",
        version=1,
        phase=Phase.OPEN,
        display_name="Kitchen",
        created_ms=1_700_000_000_000 + number,
        updated_ms=1_700_000_000_000 + number,
        preset="basic",
        rules=PRESETS["basic"],
        seats=(Seat(), Seat()),
        secret=bytes(32),
        seeds=(b"1" * 32, b"2" * 32),
    )
    return replace(table, **changes)


def following(table: Table, **changes: object) -> Table:
    """The table's next version."""
    return replace(table, version=table.version + 1, **changes)


def batch_of(table: Table, name: str = "Ann") -> Batch:
    """A batch that led to the table's version."""
    return Batch(version=table.version, time_ms=table.updated_ms, actor=None, events=(SeatJoined(0, name),))


async def created(store: Store, game: str | None = None, versions: int = 1) -> Table:
    """A table that the store has at this version."""
    table = new_table(game)
    outcome = await store.create(table, batch_of(table))
    assert isinstance(outcome, Created)
    return await advanced(store, outcome.table, versions - 1)


async def advanced(store: Store, table: Table, commits: int) -> Table:
    """The table after so many more commits."""
    for _ in range(commits):
        table = await committed(store, following(table))
    return table


async def due_at(store: Store, due_ms: int, table: Table | None = None) -> Table:
    """The table that the store has at version 2, in which something falls due then."""
    table = table or new_table()
    await store.create(table, batch_of(table))
    table = following(table)
    await store.commit(table, batch_of(table), due_ms=due_ms)
    return table


async def committed(
    store: Store, table: Table, batch: Batch | None = None, request: Request | None = None, record: Sequence[str] = ()
) -> Table:
    """The table as it is stored, once it is: with its mark."""
    outcome = await store.commit(table, batch or batch_of(table), request, record=record)
    assert isinstance(outcome, Committed)
    assert outcome == Committed(replace(table, mark=outcome.table.mark))
    return outcome.table
