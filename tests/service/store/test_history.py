"""Histories: what led a game from version to version."""

from msgspec.structs import replace

from service.store.store import Options, Store
from tests.service.store.conftest import Connect
from tests.service.store.tables import batch_of, committed, created, following


async def test_the_history_has_every_version_in_order(store: Store) -> None:
    """Each commit's batch is kept under its version, and pages of them join without gap or overlap."""
    table = await created(store)
    batches = [replace(batch_of(table), mark=table.mark)]
    for number in range(6):
        batch = batch_of(following(table), f"player {number}")
        before, table = table, await committed(store, following(table), batch)
        batches.append(replace(batch, mark=table.mark, before=before.mark))
    pages = [await store.history(table.game, after, 3) for after in (0, 3, 6)]
    assert [batch for page in pages if page for batch in page.batches] == batches
    assert {page.last_version for page in pages if page} == {7}
    assert await store.batch(table.game, 4) == batches[3]


async def test_a_reader_ahead_of_the_game_can_tell(store: Store) -> None:
    """After the last version and beyond it there are no batches, and the last version is told."""
    table = await created(store, versions=3)
    for after in (3, 99):
        page = await store.history(table.game, after, 10)
        assert page is not None
        assert (page.batches, page.last_version) == ((), 3)
    assert await store.batch(table.game, 4) is None


async def test_an_old_history_is_trimmed_and_a_reader_can_tell(connect: Connect) -> None:
    """At least so many versions are kept as were asked for, not all for ever, and those that are kept leave no gap."""
    store = await connect(Options(history=50))
    table = await created(store, versions=400)
    page = await store.history(table.game, 1, 1000)
    assert page is not None
    assert page.last_version == 400
    assert 50 <= len(page.batches) < 300
    first = page.batches[0].version
    assert first > 2
    assert await store.batch(table.game, first - 1) is None
    assert [batch.version for batch in page.batches] == list(range(first, 401))
