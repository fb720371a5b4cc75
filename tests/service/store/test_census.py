"""How many tables there are, by phase."""

from msgspec.structs import replace

from service.store import Options, Store
from service.store.keys import PHASES
from service.store.table import Phase
from tests.service.store.conftest import Connect
from tests.service.store.tables import batch_of, following, new_table

NONE = dict.fromkeys(PHASES, 0)


def test_every_phase_is_counted() -> None:
    """The phases that are counted are those of a table."""
    assert tuple(Phase) == PHASES


async def test_a_table_is_counted_in_its_phase(store: Store) -> None:
    """Each table is counted once, in the phase that it is in now."""
    one, other = new_table(), new_table()
    await store.create(one, batch_of(one))
    await store.create(other, batch_of(other))
    assert await store.census(one.updated_ms) == NONE | {"open": 2}
    one = replace(following(one), phase=Phase.PLAYING)
    await store.commit(one, batch_of(one))
    assert await store.census(one.updated_ms) == NONE | {"open": 1, "playing": 1}
    one = replace(following(one), phase=Phase.FINISHED)
    await store.commit(one, batch_of(one))
    assert await store.census(one.updated_ms) == NONE | {"open": 1, "finished": 1}


async def test_a_table_that_has_expired_is_not_counted(connect: Connect) -> None:
    """A table is counted for as long as it is kept after its last commit, and leaves nothing behind."""
    store = await connect(Options(keep_open_s=60))
    table = new_table()
    await store.create(table, batch_of(table))
    assert await store.census(table.updated_ms + 59_999) == NONE | {"open": 1}
    assert await store.census(table.updated_ms + 60_000) == NONE
    assert await store.census(table.updated_ms) == NONE
