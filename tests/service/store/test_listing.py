"""Listings of open tables."""

import pytest

from service.store import listing
from service.store.errors import BadCursor
from service.store.keys import Keys
from service.store.store import Store
from service.store.table import Phase, Seat
from tests import servers
from tests.service.store.tables import batch_of, committed, created, following, new_table


async def pages(store: Store, limit: int) -> list[list[str]]:
    """The games of all pages of the listing."""
    found, cursor = [], ""
    while True:
        page = await store.open_tables(limit, cursor)
        found.append([table.game for table in page.tables])
        cursor = page.cursor
        if not cursor:
            return found


async def test_open_tables_are_listed_newest_first(store: Store) -> None:
    """Pages follow each other from the newest table to the oldest, over all shards, and none is twice or missing."""
    games = [(await created(store)).game for _ in range(25)]
    listed = await pages(store, 4)
    assert [game for page in listed for game in page] == games[::-1]
    assert {len(page) for page in listed[:6]} == {4}


async def test_tables_of_one_moment_are_all_listed(store: Store) -> None:
    """Tables that were created in the same millisecond are told apart by their ids."""
    tables = [new_table(created_ms=1_700_000_000_000) for _ in range(20)]
    for table in tables:
        await store.create(table, batch_of(table))
    listed = [game for page in await pages(store, 3) for game in page]
    assert sorted(listed) == sorted(table.game for table in tables)


async def test_a_table_leaves_the_list_when_play_begins(store: Store) -> None:
    """Only open tables are listed: one that is played at is not, and one that is open again is."""
    table = await committed(store, following(await created(store), phase=Phase.PLAYING))
    assert await pages(store, 5) == [[]]
    await committed(store, following(table, phase=Phase.OPEN))
    assert await pages(store, 5) == [[table.game]]


async def test_a_new_table_does_not_disturb_a_reader(store: Store) -> None:
    """Tables created between two pages neither shift the next page nor come twice."""
    games = [(await created(store)).game for _ in range(6)]
    first = await store.open_tables(3)
    await created(store)
    second = await store.open_tables(3, first.cursor)
    assert [table.game for table in first.tables + second.tables] == games[::-1]


async def test_expired_tables_are_dropped_and_do_not_shorten_a_page(store: Store, store_url: str) -> None:
    """Entries of tables that have expired leave the index, and a page is filled from those after them."""
    games = [(await created(store)).game for _ in range(12)]
    keys = Keys("rummyd")
    with servers.client(store_url) as client:
        for game in games[4:]:
            client.delete(keys.of(game).game, keys.of(game).history)
        page = await store.open_tables(3)
        assert [table.game for table in page.tables] == games[3:0:-1]
        assert sum(client.zcard(key) for key in keys.open_shards()) == 4
    assert [table.game for table in (await store.open_tables(3, page.cursor)).tables] == games[:1]


async def filtered(store: Store, limit: int, preset: str, seat_count: int) -> list[str]:
    """The games of all pages of a filtered listing."""
    found, cursor = list[str](), ""
    while True:
        page = await store.open_tables(limit, cursor, preset=preset, seat_count=seat_count)
        assert len(page.tables) <= limit
        found += [table.game for table in page.tables]
        cursor = page.cursor
        if not cursor:
            return found


@pytest.mark.parametrize("limit", [1, 3, 4, 100])
async def test_tables_of_a_kind_are_listed_alone(store: Store, limit: int) -> None:
    """A list of one preset, of a number of seats or of both has all of those tables in order, in pages of any size."""
    kinds = [(preset, seat_count) for preset in ("basic", "rummy500", "") for seat_count in (2, 4)] * 4
    games = []
    for number, (preset, seat_count) in enumerate(kinds):
        table = new_table(created_ms=1_700_000_000_000 + number, preset=preset, seats=(Seat(),) * seat_count)
        await store.create(table, batch_of(table))
        games.append((table.game, preset, seat_count))
    for preset, seat_count in (("rummy500", 0), ("", 4), ("basic", 2), ("pool500", 0), ("basic", 3)):
        wanted = [game for game, its, seats in reversed(games) if preset in {"", its} and seat_count in {0, seats}]
        assert await filtered(store, limit, preset, seat_count) == wanted


async def test_a_filter_reads_so_many_tables_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page ends after so many tables that do not pass, and the next one goes on behind them."""
    monkeypatch.setattr(listing, "MOST_READ", 5)
    oldest = new_table(preset="rummy500")
    await store.create(oldest, batch_of(oldest))
    for _ in range(6):
        await created(store)
    first = await store.open_tables(3, preset="rummy500")
    assert first.tables == ()
    second = await store.open_tables(3, first.cursor, preset="rummy500")
    assert [table.game for table in second.tables] == [oldest.game]
    assert second.cursor == ""


@pytest.mark.parametrize("cursor", ["x", "17", "+", "1700000000000:", "1700000000000:a b", "\n"])
async def test_a_made_up_cursor_is_refused(own_store: Store, cursor: str) -> None:
    """What no page ever gave as its cursor is refused."""
    with pytest.raises(BadCursor):
        await own_store.open_tables(3, cursor)


def seats(free: int, taken: int) -> tuple[Seat, ...]:
    """So many seats of either kind."""
    return (Seat(taken=True),) * taken + (Seat(),) * free


async def test_the_fullest_of_those_that_are_alike_is_found(store: Store) -> None:
    """Of the open tables of a likeness it is the one with the fewest free seats, and of those the oldest."""
    tables = [new_table(likeness="kind", seats=seats(free, 4 - free)) for free in (3, 1, 1, 2)]
    tables += [new_table(likeness="other", seats=seats(1, 3)), new_table(seats=seats(1, 3))]
    for table in reversed(tables):
        await store.create(table, batch_of(table))
    found = []
    for _ in range(4):
        game = await store.fullest_alike("kind")
        assert game is not None
        found.append(game)
        begun = following(next(table for table in tables if table.game == game), phase=Phase.PLAYING)
        await store.commit(begun, batch_of(begun))
    assert found == [tables[number].game for number in (1, 2, 3, 0)]
    assert await store.fullest_alike("kind") is None
    assert await store.fullest_alike("other") == tables[4].game


async def test_each_commit_tells_how_full_a_table_is(store: Store) -> None:
    """A seat that is taken or given up moves the table among those that are alike."""
    first, second = (new_table(likeness="kind", seats=seats(2, 1)) for _ in range(2))
    for table in (first, second):
        await store.create(table, batch_of(table))
    fuller = following(second, seats=seats(1, 2))
    await store.commit(fuller, batch_of(fuller))
    assert await store.fullest_alike("kind") == second.game
    emptier = following(fuller, seats=seats(3, 0))
    await store.commit(emptier, batch_of(emptier))
    assert await store.fullest_alike("kind") == first.game


async def test_expired_tables_are_no_longer_alike(store: Store, store_url: str) -> None:
    """Entries of expired tables are dropped by who meets them, and the index of a likeness ends with its last table."""
    tables = [new_table(likeness="kind", seats=seats(1, 1)) for _ in range(5)]
    for table in tables:
        await store.create(table, batch_of(table))
    keys = Keys("rummyd")
    with servers.client(store_url) as client:
        indexes = [key for key in keys.alike_shards("kind") if client.exists(key)]
        assert all(23 * 3600 < client.ttl(key) <= 24 * 3600 for key in indexes)
        for table in tables[:4]:
            client.delete(keys.of(table.game).game)
        assert await store.fullest_alike("kind") == tables[4].game
        assert sum(client.zcard(key) for key in indexes) == 1


async def test_tables_that_nobody_meets_do_not_pile_up(store: Store, store_url: str) -> None:
    """Where tables expire and nobody lists them, those that are created after them keep the indexes short."""
    keys = Keys("rummyd")
    with servers.client(store_url) as client:
        for _ in range(400):
            table = new_table(likeness="kind")
            await store.create(table, batch_of(table))
            client.delete(keys.of(table.game).game)
        for indexes in (keys.open_shards(), keys.alike_shards("kind")):
            assert sum(client.zcard(key) for key in indexes) <= 3 * len(indexes)
