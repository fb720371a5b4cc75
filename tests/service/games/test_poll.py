"""Polling a table: what is told page by page must be what a stream tells."""

import asyncio
from asyncio import Event
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from engine.events import DealStarted, Drew
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.poll import Polled, poll
from service.games.seats import join, leave, start
from service.games.seen import SeenBatch, SeenTable, see
from service.observability import metrics
from service.store.store import Options, Store
from service.store.table import MatchStarted, SeatJoined, SeatLeft, Table
from service.store.watch import Watch
from tests.patience import patient
from tests.service.games.tables import Clock, events_of, opened, playing, put_down, refused, watched, watching
from tests.service.store.feeds import held
from tests.service.store.rewind import bring_back, keep
from tests.strategies import any_legal


async def asked(
    desk: Desk,
    game: str,
    token: str | None = None,
    after: int = 0,
    epoch: str = "",
    *,
    mark: bytes = b"",
    size: int = 100,
    wait_s: float = 0,
) -> Polled:
    """One page. To wait for ever is to fail."""
    async with asyncio.timeout(60):
        return await poll(desk, game, token, after=after, epoch=epoch, mark=mark, size=size, wait_s=wait_s)


async def all_of(
    desk: Desk, game: str, token: str | None = None, after: int = 0, *, size: int = 100
) -> list[SeenTable | SeenBatch]:
    """Every page of a match that is over, each asked for from where the one before ended."""
    told = list[SeenTable | SeenBatch]()
    epoch, mark = "", b""
    while True:
        page = await asked(desk, game, token, after, epoch, mark=mark, size=size)
        told += [page.snapshot] if page.snapshot else page.batches
        after, epoch, mark = page.version, page.epoch, page.mark
        if page.over:
            return told


def waits(desk: Desk, monkeypatch: pytest.MonkeyPatch, first: Callable[[], Awaitable[object]] | None = None) -> Event:
    """Set as soon as somebody waits and hears all that is committed from then on; `first` is done just before."""
    watch, begun = desk.store.feed.watch, Event()

    @asynccontextmanager
    async def watched_for(game: str, after: int, mark: bytes = b"") -> AsyncIterator[Watch]:
        if first:
            await first()
        async with watch(game, after, mark) as waiting:
            begun.set()
            yield waiting

    monkeypatch.setattr(desk.store.feed, "watch", watched_for)
    return begun


async def test_the_first_page_is_the_table(desk: Desk) -> None:
    """Who has seen nothing is given the whole table as he may see it, and what to go on after."""
    table = await opened(desk, 3)
    page = await asked(desk, table.game)
    assert page == Polled(see(desk, table, None), (), 1, table.epoch, table.mark, more=False, over=False)
    await join(desk, table.game, display_name="Ann", seat=None, request_id="")
    page = await asked(desk, table.game, None, page.version, page.epoch)
    assert (page.snapshot, page.version, page.over) == (None, 2, False)
    assert events_of(page.batches) == [SeatJoined(0, "Ann")]


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_pages_tell_what_a_stream_tells(desk: Desk, size: int) -> None:
    """Every version comes once and in order, redacted as in a stream, to each seat and to spectators, in any pages."""
    match = await playing(desk, 3, deals=2)
    await match.to_the_end()
    for token in (*match.tokens, None):
        for after in (1, 7, (await match.table()).version):
            assert await all_of(desk, match.game, token, after, size=size) == await watched(
                desk, match.game, token, after=after
            )


async def test_a_page_holds_no_more_than_was_asked_for(desk: Desk) -> None:
    """A page that is full says that there is more, and the last one of a match that it is over."""
    match = await playing(desk)
    await match.to_the_end()
    last = (await match.table()).version
    page = await asked(desk, match.game, after=last - 3, size=2)
    assert ([batch.version for batch in page.batches], page.more, page.over) == ([last - 2, last - 1], True, False)
    page = await asked(desk, match.game, after=page.version, size=2)
    assert ([batch.version for batch in page.batches], page.more, page.over) == ([last], False, True)
    page = await asked(desk, match.game, after=last, size=2)
    assert (page.batches, page.version, page.more, page.over) == ((), last, False, True)


async def test_nothing_new_is_an_empty_page(desk: Desk) -> None:
    """Where nothing has happened the page is empty, and says to go on from the same place."""
    match = await playing(desk)
    page = await asked(desk, match.game, after=3)
    table = await match.table()
    assert page == Polled(None, (), 3, table.epoch, table.mark, more=False, over=False)


@pytest.mark.parametrize(
    ("after", "epoch"), [(0, ""), (99, ""), (2, "another")], ids=["nothing seen", "ahead of the game", "another epoch"]
)
async def test_a_place_outside_the_history_gives_the_table(desk: Desk, after: int, epoch: str) -> None:
    """A version that is not of this history is answered with the table itself, without waiting."""
    match = await playing(desk)
    page = await asked(desk, match.game, None, after, epoch, wait_s=30)
    assert page.snapshot == see(desk, await match.table(), None)
    assert (page.batches, page.version) == ((), 3)


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_lost_history_is_made_up_for_by_the_table(desk: Desk, kept: int) -> None:
    """Where the versions that follow are no longer kept the table comes instead, never a gap."""
    match = await playing(desk)
    await match.move()
    store = desk.store
    await store._link.client.xtrim(store._keys.of(match.game).history, maxlen=kept, approximate=False)
    page = await asked(desk, match.game, after=1)
    assert page.snapshot == see(desk, await match.table(), None)
    assert (page.batches, page.version) == ((), 4)


async def test_a_poll_waits_for_news(desk: Desk, other: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll that is to wait is answered with what happens meanwhile, from whichever server, as soon as it has."""
    match = await playing(desk)
    begun = waits(other, monkeypatch)
    waiting = asyncio.create_task(asked(other, match.game, match.tokens[0], 3, wait_s=30))
    await begun.wait()
    acted = await match.move()
    page = await waiting
    assert [batch.version for batch in page.batches] == [acted.version]
    assert page.batches[0].events == acted.events


async def test_a_wait_ends(desk: Desk) -> None:
    """Where nothing happens in the time given the page is empty, and nothing of the wait is left."""
    match = await playing(desk)
    page = await asked(desk, match.game, after=3, wait_s=0.05)
    assert (page.batches, page.version) == ((), 3)
    assert held(desk.store.feed).watches == 0


async def test_what_is_there_already_is_not_waited_for(desk: Desk) -> None:
    """A poll that may wait is answered at once where there is something to tell, or will never be anything."""
    match = await playing(desk)
    assert (await asked(desk, match.game, after=2, wait_s=30)).version == 3
    await match.to_the_end()
    last = (await match.table()).version
    assert (await asked(desk, match.game, after=last, wait_s=30)).over


async def test_what_happens_between_reading_and_waiting_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that is made after the history was read, and before the wait begins, ends the wait at once."""
    match = await playing(desk)
    waits(desk, monkeypatch, match.move)
    page = await asked(desk, match.game, after=3, wait_s=30)
    assert [batch.version for batch in page.batches] == [4]


async def test_a_history_that_grows_while_it_is_read_is_told_in_the_next_page(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that is made between the reading of history and table is announced, and told by the next page."""
    match = await playing(desk)
    load = desk.store.load

    async def after_a_move(game: str, request: None = None) -> object:
        monkeypatch.undo()
        await match.move()
        return await load(game, request)

    monkeypatch.setattr(desk.store, "load", after_a_move)
    page = await asked(desk, match.game, after=3)
    assert (page.batches, page.version, page.more) == ((), 3, True)
    assert [batch.version for batch in (await asked(desk, match.game, after=3)).batches] == [4]


async def test_a_seat_is_followed_when_seats_move_up(desk: Desk) -> None:
    """The player of seat 3 of four is seat 1 of the two who start: his page has the hand of seat 1."""
    table = await opened(desk, 4)
    tokens = [
        (await join(desk, table.game, display_name=name, seat=seat, request_id="")).token
        for name, seat in (("Ann", 1), ("Bo", 3))
    ]
    await start(desk, table.game, tokens[0], request_id="")
    for seat, token in enumerate(tokens):
        begun = (await asked(desk, table.game, token, after=3)).batches[0]
        assert begun.events[0] == MatchStarted((1, 3))
        dealt = begun.events[1]
        assert isinstance(dealt, DealStarted)
        assert [hand is not None for hand in dealt.hands] == [number == seat for number in (0, 1)]


async def test_who_leaves_reads_nothing_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that was revoked reads nothing, not even what happened before; a wait ends with it."""
    match = await playing(desk, 3)
    seat, token = await match.turn()
    begun = waits(desk, monkeypatch)
    waiting = asyncio.create_task(asked(desk, match.game, token, 4, wait_s=30))
    await begun.wait()
    await leave(desk, match.game, token, request_id="")
    for reading in (waiting, asked(desk, match.game, token, 1)):
        with refused(GameReason.TOKEN_INVALID):
            await reading
    (batch,) = (await asked(desk, match.game, after=4)).batches
    assert batch.events[0] == SeatLeft(seat)
    assert [event.cards for event in batch.events if isinstance(event, Drew)] == [None]


@pytest.mark.parametrize("token", ["", "rst_unknown"])
async def test_a_token_that_is_none_of_the_table_reads_nothing(desk: Desk, token: str) -> None:
    """A wrong token is refused, though a spectator needs none."""
    match = await playing(desk)
    with refused(GameReason.TOKEN_INVALID):
        await asked(desk, match.game, token)


async def test_a_game_that_is_not_there_is_not_found(desk: Desk) -> None:
    """A game that never was, or that expires while somebody waits, is not found."""
    for after in (0, 1):
        with refused(GameReason.GAME_NOT_FOUND):
            await asked(desk, "nowhere", after=after)
    match = await playing(desk)
    load = desk.store.load

    async def then_gone(game: str, request: None = None) -> object:
        loaded = await load(game, request)
        keys = desk.store._keys.of(game)
        await desk.store._link.client.delete(keys.game, keys.history)
        return loaded

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(desk.store, "load", then_gone)
        with refused(GameReason.GAME_NOT_FOUND):
            await asked(desk, match.game, after=3, wait_s=30)


async def test_a_server_that_stops_sends_those_who_wait_elsewhere(
    redis_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the store is closed under a wait its caller is told that the server drains, not that anything failed."""
    own = await Store.connect(redis_url, patient(Options(namespace="test-drain-poll")))
    desk = Desk(own, clock)
    match = await playing(desk)
    begun = waits(desk, monkeypatch)
    waiting = asyncio.create_task(asked(desk, match.game, after=3, wait_s=30))
    await begun.wait()
    await own.feed.close()
    with refused(GameReason.SERVER_DRAINING):
        await waiting
    await own.close()


async def test_polling_and_watching_are_of_one_history(desk: Desk) -> None:
    """A stream goes on where a page ended, and a page where a stream was lost."""
    match = await playing(desk)
    for _ in range(3):
        await match.move(any_legal)
    page = await asked(desk, match.game, after=3, size=1)
    async with aclosing(watching(desk, match.game, after=page.version, epoch=page.epoch)) as stream:
        batch = await anext(stream)
    assert isinstance(batch, SeenBatch)
    rest = await asked(desk, match.game, None, batch.version, batch.epoch)
    assert [page.version, batch.version, *(other.version for other in rest.batches)] == [4, 5, 6]


async def test_a_table_of_another_epoch_is_told_whole(desk: Desk) -> None:
    """Where the store lost a table and its name came to life again, its new history is not taken for the old one's."""
    match = await playing(desk)
    old = await match.table()
    await put_again(desk, old)
    page = await asked(desk, match.game, match.tokens[0], 3, old.epoch)
    assert page.snapshot is not None
    assert page.epoch == "another"


async def test_a_table_that_has_lost_the_version_is_told_whole(desk: Desk, redis_url: str) -> None:
    """Where another version has taken the number of the one that was told, the table is told, and pages go on there."""
    match = await playing(desk)
    keys = desk.store._keys.of(match.game)
    kept = keep(redis_url, keys)
    await put_down(desk, await match.table(), display_name="lost")
    lost = await asked(desk, match.game, after=3)
    assert [batch.version for batch in lost.batches] == [lost.version] == [4]
    bring_back(redis_url, keys, kept)
    there = table = await put_down(desk, await match.table())
    for _ in range(2):
        page = await asked(desk, match.game, None, 4, lost.epoch, mark=lost.mark, wait_s=30)
        assert (page.snapshot, page.mark) == (see(desk, table, None), table.mark)
        page = await asked(desk, match.game, None, 4, lost.epoch, mark=there.mark)
        assert (page.snapshot, page.version) == (None, table.version)
        table = await put_down(desk, table)


async def put_again(desk: Desk, table: Table) -> None:
    """Replaces a table by its like of another epoch, at a later version."""
    keys = desk.store._keys.of(table.game)
    for _ in range(2):
        table = await put_down(desk, table, epoch="another")
    assert await desk.store._link.client.exists(keys.game)


async def test_batches_that_are_listed_are_counted(desk: Desk) -> None:
    """The metrics count each batch that is handed out."""
    match = await playing(desk)
    before = metrics.events_delivered._value.get()
    await asked(desk, match.game, after=1)
    assert metrics.events_delivered._value.get() - before == 2
