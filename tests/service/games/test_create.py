import hashlib

import pytest

from engine.errors import BadRules
from service.games.create import create
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.opening import Wanted
from service.games.read import get
from service.games.seats import join
from service.store.table import Phase
from tests.service.games.tables import Clock, NoPermit, Permits, new_request_id, opened, refused, stored, wanted_of
from tests.strategies import rules_of


async def test_a_new_table_waits_for_players(desk: Desk, clock: Clock) -> None:
    """A table begins open, at version 1, with every seat free, and is what the store has."""
    table = await opened(desk, 3, deals=4)
    assert (table.phase, table.version, table.created_ms) == (Phase.OPEN, 1, clock.now)
    assert [seat.taken for seat in table.seats] == [False, False, False]
    assert table.rules.deals == 4
    assert await stored(desk, table.game) == table


async def test_the_first_version_has_a_batch(desk: Desk) -> None:
    """A history begins at version 1, so that a watcher who was there from the start misses nothing."""
    table = await opened(desk)
    batch = await desk.store.batch(table.game, 1)
    assert batch is not None
    assert (batch.version, batch.events) == (1, ())


async def test_names_are_not_given_twice(desk: Desk) -> None:
    """Without a request id each call makes a table of its own, whose name nobody can guess."""
    names = {(await opened(desk)).game for _ in range(3)}
    assert len(names) == 3
    assert all(len(name) == 20 and name.isalnum() and name.islower() for name in names)


async def test_a_retry_gives_the_same_table(desk: Desk, other: Desk) -> None:
    """The same call with the same request id, in either case of its letters, makes no second table on any server."""
    request_id = new_request_id()
    first = await opened(desk, request_id=request_id)
    await join(desk, first.game, display_name="Ann", seat=None, request_id="")
    again = await opened(other, request_id=request_id.upper())
    assert (again.game, again.epoch) == (first.game, first.epoch)
    assert again.version == 2, "as it is now"


async def test_what_makes_no_table_needs_no_permit(desk: Desk) -> None:
    """A permit is asked for before a table is made, and not where the call is a retry; a fault needs none."""
    permits = Permits(1)
    request_id, wanted = new_request_id(), wanted_of()
    first = await create(desk, wanted, request_id=request_id, permit=permits)
    assert permits.left == 0
    assert (await create(desk, wanted, request_id=request_id, permit=permits)).game == first.game
    permits.left = 1
    with pytest.raises(BadRules):
        await create(desk, wanted_of(set_max=2), request_id="", permit=permits)
    assert permits.left == 1
    await create(desk, wanted, request_id="", permit=permits)
    with pytest.raises(NoPermit):
        await create(desk, wanted, request_id="", permit=permits)
    assert len((await desk.store.open_tables(10)).tables) == 2


@pytest.mark.parametrize(
    "changes", [{"seat_count": 3}, {"preset": "rummy500"}, {"deals": 2}], ids=["seats", "preset", "rules"]
)
async def test_a_request_id_is_for_one_call(desk: Desk, changes: dict[str, object]) -> None:
    """A request id that comes with another payload is refused, and the table that it made stays as it is."""
    request_id = new_request_id()
    table = await opened(desk, request_id=request_id)
    with refused(GameReason.REQUEST_ID_REUSED):
        await opened(desk, request_id=request_id, **changes)  # type: ignore[arg-type]
    assert await stored(desk, table.game) == table


async def test_every_fault_is_told_at_once(desk: Desk) -> None:
    """A rule set that cannot be played is refused with all its faults, the number of seats among them."""
    rules = rules_of("basic", seats=[2, 3], jokers=9, target=0, deals=0, set_max=2)
    with pytest.raises(BadRules) as refusal:
        await create(desk, Wanted(preset="basic", rules=rules, seat_count=4), request_id="")
    assert {fault.field for fault in refusal.value.faults} == {"seat_count", "jokers", "target", "set_max"}
    assert (await desk.store.open_tables(10)).tables == ()


async def test_the_first_seed_is_committed_to(desk: Desk) -> None:
    """Anybody may see the hash of the first deal's seed before the first player sits down, and not the seed (G6)."""
    table = await opened(desk)
    seen = await get(desk, table.game, None)
    assert table.seeds is not None
    assert seen.commitment == hashlib.sha256(table.seeds[0]).digest()
    assert not any(seed in repr(seen).encode() or seed.hex() in repr(seen) for seed in table.seeds)
    assert len({*table.seeds, table.secret}) == 3, "each is drawn on its own"
