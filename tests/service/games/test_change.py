"""How a game changes where several servers change it, and what the table last seen is good for."""

import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.actions import Draw
from engine.errors import Refused
from service.games.change import Decision, change, load
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.play import Course
from service.games.retries import request_of
from service.games.seats import join
from service.observability import metrics
from service.store.table import SCHEMA, Table
from tests.service.games.tables import (
    BusyStore,
    Clock,
    joined,
    new_request_id,
    opened,
    playing,
    put_down,
    refused,
    stored,
)


def renamed(name: str) -> Callable[[Table], Decision]:
    """Decides to add to the table's name."""
    return lambda table: Decision(None, Course(replace(table, display_name=table.display_name + name), ()))


class Counted:
    """Counts the calls to the store by their kind."""

    def __init__(self, store: BusyStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        for name in ("load", "commit", "batch"):
            monkeypatch.setattr(store, name, self._counting(name, getattr(store, name)))

    def _counting(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            self.calls.append(name)
            return call(*given, **named)

        return counted


async def test_a_change_is_the_next_version(desk: Desk, clock: Clock) -> None:
    """A change counts the version up by one, bears the time, and leaves a batch that says who made it."""
    table = await opened(desk)
    clock.now += 5000
    changed = await change(desk, table.game, None, lambda old: Decision(1, Course(replace(old, display_name="x"), ())))
    assert (changed.version, changed.table.version, changed.table.updated_ms) == (2, 2, clock.now)
    written = await desk.store.batch(table.game, 2)
    assert written is not None
    assert changed.batch == replace(written, mark=b"", before=b"")
    assert (changed.batch.actor, changed.batch.time_ms) == (1, clock.now)


async def test_what_is_written_bears_the_schema_of_its_writer(desk: Desk) -> None:
    """A table that an older release has stored is of this release's schema once this one has changed it."""
    table = await put_down(desk, await opened(desk), schema=1)
    assert table.schema < SCHEMA
    changed = await change(desk, table.game, None, renamed("x"))
    assert changed.table.schema == (await stored(desk, table.game)).schema == SCHEMA


async def test_time_does_not_go_back(desk: Desk, clock: Clock) -> None:
    """A server whose clock is behind dates a change no earlier than the one before."""
    table = await opened(desk)
    clock.now -= 5000
    assert (await change(desk, table.game, None, renamed("x"))).table.updated_ms == table.updated_ms


async def test_the_usual_change_is_one_round_trip(
    desk: Desk, store: BusyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has seen the newest table changes it without reading it again."""
    table = await opened(desk)
    counted = Counted(store, monkeypatch)
    await change(desk, table.game, None, renamed("x"))
    await change(desk, table.game, None, renamed("y"))
    assert counted.calls == ["commit", "commit"]


async def test_a_table_not_seen_before_is_read_first(
    desk: Desk, other: Desk, store: BusyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has never seen the table reads it, and nothing more."""
    table = await opened(desk)
    counted = Counted(store, monkeypatch)
    await change(other, table.game, None, renamed("x"))
    assert counted.calls == ["load", "commit"]


async def test_a_change_made_meanwhile_is_built_upon(
    desk: Desk, other: Desk, store: BusyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another server was first the change is decided anew on its table, which need not be read: none is lost."""
    table = await opened(desk)
    await change(other, table.game, None, renamed(" of Ann"))
    counted = Counted(store, monkeypatch)
    changed = await change(desk, table.game, None, renamed(" and Bo"))
    assert (changed.table.display_name, changed.version) == ("Kitchen of Ann and Bo", 3)
    assert counted.calls == ["commit", "commit"]


async def test_a_conflict_is_counted_once(desk: Desk, other: Desk) -> None:
    """A commit that came too late counts as one conflict."""
    table = await opened(desk)
    await change(other, table.game, None, renamed("x"))
    before = metrics.commit_conflicts._value.get()
    await change(desk, table.game, None, renamed("y"))
    assert metrics.commit_conflicts._value.get() == before + 1


async def test_no_refusal_comes_from_an_old_table(desk: Desk, other: Desk) -> None:
    """What is refused on a table that has moved on is judged again on the newest, where it is the seat's turn."""
    match = await playing(desk, 2)
    seat, _ = await match.turn()
    elsewhere = dataclasses.replace(match, desk=other)
    await load(other, match.game)
    while (await match.state()).turn == seat:
        await match.move()
    assert other.last_seen.get(match.game) != await match.table()
    await elsewhere.act(1 - seat, Draw())


async def test_a_refusal_from_the_newest_table_is_final(
    desk: Desk, other: Desk, store: BusyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused on a table just read is not asked twice."""
    match = await playing(desk, 2)
    seat, _ = await match.turn()
    elsewhere = dataclasses.replace(match, desk=other)
    counted = Counted(store, monkeypatch)
    with pytest.raises(Refused, match="NOT_YOUR_TURN"):
        await elsewhere.act(1 - seat, Draw())
    assert counted.calls == ["load"]


async def test_a_version_that_was_expected_is_not_got_round(desk: Desk, other: Desk) -> None:
    """Where another change came first a call for the older version is refused, and told the current one."""
    match = await playing(desk, 2)
    seat, _ = await match.turn()
    version = (await match.table()).version
    await put_down(other, await match.table())
    with refused(GameReason.VERSION_MISMATCH) as refusal:
        await match.act(seat, Draw(), expected=version)
    assert refusal.value.metadata == {"current_version": str(version + 1)}
    assert (await match.table()).version == version + 1


async def test_a_call_gives_up_when_others_are_always_first(desk: Desk, other: Desk, store: BusyStore) -> None:
    """A call before which the table changes at every try is refused as contention, having changed nothing."""
    table = await opened(desk)

    async def overtake(after: Table) -> None:
        meanwhile, store.meanwhile = store.meanwhile, None
        await put_down(other, await stored(other, after.game))
        store.meanwhile = meanwhile

    store.meanwhile = overtake
    with refused(GameReason.CONTENTION):
        await change(desk, table.game, None, renamed("x"))
    store.meanwhile = None
    assert (await stored(desk, table.game)).display_name == "Kitchen"


async def test_a_retry_changes_nothing(desk: Desk, other: Desk) -> None:
    """The same request is answered with the version and batch of its first call, and the table of now."""
    table, request = await opened(desk), request_of("me", new_request_id(), "rename")
    first = await change(desk, table.game, request, renamed("x"))
    await change(desk, table.game, None, renamed("y"))
    again = await change(other, table.game, request, renamed("x"))
    assert again.version == first.version
    assert again.batch is not None
    assert replace(again.batch, mark=b"", before=b"") == first.batch
    assert (again.table.display_name, again.table.version) == ("Kitchenxy", 3)


async def test_a_retry_that_overtakes_its_first_call_is_one_change(desk: Desk, other: Desk, store: BusyStore) -> None:
    """Two calls of the same request at the same time make one change, and are answered the same."""
    table, request = await opened(desk), request_of("me", new_request_id(), "rename")

    async def the_same(_: Table) -> None:
        store.meanwhile = None
        await change(other, table.game, request, renamed("x"))

    store.meanwhile = the_same
    changed = await change(desk, table.game, request, renamed("x"))
    assert (changed.version, changed.table.display_name) == (2, "Kitchenx")


async def test_a_game_that_expires_under_a_change_is_gone(desk: Desk, store: BusyStore) -> None:
    """Where the store has lost the table since it was seen the call finds no game, and nor does the next."""
    table = await opened(desk)

    async def expire(_: Table) -> None:
        keys = store._keys.of(table.game)
        await store._link.client.delete(keys.game, keys.history)

    store.meanwhile = expire
    for _ in range(2):
        with refused(GameReason.GAME_NOT_FOUND):
            await change(desk, table.game, None, renamed("x"))
    assert desk.last_seen.get(table.game) is None


async def test_two_players_of_one_seat_get_two_seats(desk: Desk, other: Desk, store: BusyStore) -> None:
    """Of two who take the lowest free seat at the same time the second gets the next."""
    table = await opened(desk, 3)

    async def overtake(_: Table) -> None:
        store.meanwhile = None
        await joined(other, table.game, 1)

    store.meanwhile = overtake
    assert (await join(desk, table.game, display_name="Bo", seat=None, request_id="")).seat == 1
