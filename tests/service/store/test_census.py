"""How many tables there are, by phase, and how late what is due is."""

from msgspec.structs import replace

from service.store.due import CLAIM_MS
from service.store.keys import PHASES, shard_of
from service.store.store import Options, Store
from service.store.table import Phase
from tests.service.store.conftest import Connect
from tests.service.store.tables import batch_of, due_at, following, new_table

NONE = dict.fromkeys(PHASES, 0)


def test_every_phase_is_counted() -> None:
    """The phases that are counted are those of a table."""
    assert tuple(Phase) == PHASES


async def test_a_table_is_counted_in_its_phase(store: Store) -> None:
    """Each table is counted once, in the phase that it is in now."""
    one, other = new_table(), new_table()
    await store.create(one, batch_of(one))
    await store.create(other, batch_of(other))
    assert (await store.census(one.updated_ms)).tables == NONE | {"open": 2}
    one = replace(following(one), phase=Phase.PLAYING)
    await store.commit(one, batch_of(one))
    assert (await store.census(one.updated_ms)).tables == NONE | {"open": 1, "playing": 1}
    one = replace(following(one), phase=Phase.FINISHED)
    await store.commit(one, batch_of(one))
    assert (await store.census(one.updated_ms)).tables == NONE | {"open": 1, "finished": 1}


async def test_a_table_that_has_expired_is_not_counted(connect: Connect) -> None:
    """A table is counted for as long as it is kept after its last commit, and leaves nothing behind."""
    store = await connect(Options(keep_open_s=60))
    table = new_table()
    await store.create(table, batch_of(table))
    assert (await store.census(table.updated_ms + 59_999)).tables == NONE | {"open": 1}
    assert (await store.census(table.updated_ms + 60_000)).tables == NONE
    assert (await store.census(table.updated_ms)).tables == NONE


async def test_what_nobody_does_is_overdue(store: Store) -> None:
    """What is due is overdue by the oldest of it, whichever its shard, as long as nobody has claimed it."""
    early, late = new_table("a"), new_table("b")
    assert shard_of("a") != shard_of("b")
    due = early.updated_ms + 1000
    early, late = await due_at(store, due, early), await due_at(store, due + 2000, late)

    async def overdue(after_ms: int) -> int:
        return (await store.census(due + after_ms)).overdue_ms

    assert [await overdue(after) for after in (-1, 0, 700, 9000)] == [0, 0, 700, 9000]
    await store.look(shard_of("a"), due + 9000, 1)
    assert await overdue(9000) == 7000
    assert await overdue(9000 + CLAIM_MS + 1) == 7000 + CLAIM_MS + 1
    early, late = following(early), following(late)
    await store.commit(early, batch_of(early))
    await store.commit(late, batch_of(late))
    assert await overdue(9000) == 0
