"""Watching a table: what a watcher is given, in which order, and how it ends."""

import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from typing import NoReturn

import pytest
from msgspec.structs import replace

from engine.events import DealEnded, DealStarted, Drew, MatchEnded
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.observe import Heartbeat, Observed
from service.games.seats import join, leave, start
from service.games.seen import SeenBatch, SeenTable, see
from service.observability import metrics
from service.store.errors import StoreUnavailable
from service.store.feed import FeedLimits
from service.store.outcome import Created
from service.store.store import Options, Store
from service.store.table import Batch, MatchAbandoned, MatchStarted, SeatJoined, SeatLeft
from service.store.watch import Watch
from tests.patience import patient
from tests.service.games.tables import (
    BusyStore,
    Clock,
    Match,
    events_of,
    joined,
    opened,
    playing,
    put_down,
    refused,
    stored,
    watched,
    watching,
)
from tests.service.store.feeds import held
from tests.service.store.rewind import bring_back, keep
from tests.strategies import any_legal


async def test_a_watch_begins_with_the_table(desk: Desk) -> None:
    """Who has seen nothing is given the whole table as he may see it, then what happens from there on."""
    table = await opened(desk, 3)
    async with aclosing(watching(desk, table.game)) as stream:
        assert await anext(stream) == see(desk, table, None)
        await join(desk, table.game, display_name="Ann", seat=None, request_id="")
        batch = await anext(stream)
    assert isinstance(batch, SeenBatch)
    assert (batch.version, batch.events) == (2, (SeatJoined(0, "Ann"),))


async def test_a_watch_goes_on_where_another_ended(desk: Desk) -> None:
    """Who names the last version that he has seen is given all after it, and no snapshot."""
    match = await playing(desk)
    async with aclosing(watching(desk, match.game, after=1, epoch=(await match.table()).epoch)) as stream:
        batches = [await anext(stream), await anext(stream)]
        acted = await match.move()
        batches.append(await anext(stream))
    assert [batch.version for batch in batches if isinstance(batch, SeenBatch)] == [2, 3, acted.version]


@pytest.mark.parametrize(
    ("after", "epoch"), [(0, ""), (99, ""), (2, "another")], ids=["nothing seen", "ahead of the game", "another epoch"]
)
async def test_a_watch_that_has_no_place_in_the_history_begins_anew(desk: Desk, after: int, epoch: str) -> None:
    """A version that is not of this history is answered with the table itself, and what follows it."""
    match = await playing(desk)
    async with aclosing(watching(desk, match.game, after=after, epoch=epoch)) as stream:
        snapshot = await anext(stream)
        assert isinstance(snapshot, SeenTable)
        acted = await match.move()
        batch = await anext(stream)
    assert isinstance(batch, SeenBatch)
    assert (snapshot.version, batch.version) == (3, acted.version)


async def test_a_match_is_watched_to_its_end(desk: Desk) -> None:
    """Every version comes once and in order, and the watch ends with the match's last."""
    match = await playing(desk, 3, deals=2)
    async with aclosing(watching(desk, match.game)) as stream:
        playing_on = asyncio.create_task(match.to_the_end())
        items = [item async for item in stream]
        await playing_on
    first, last = items[0].version, (await match.table()).version
    assert isinstance(items[0], SeenTable)
    assert [item.version for item in items[1:] if isinstance(item, SeenBatch)] == list(range(first + 1, last + 1))
    assert isinstance(events_of(items)[-1], MatchEnded)
    assert items[1:] == await watched(desk, match.game, after=first)


async def test_a_match_that_is_over_can_be_watched_from_any_version(desk: Desk) -> None:
    """Who comes after the end is given what he has not seen, or the table, and the watch ends."""
    match = await playing(desk)
    await match.to_the_end()
    last = (await match.table()).version
    assert [item.version for item in await watched(desk, match.game, after=last - 2)] == [last - 1, last]
    assert await watched(desk, match.game, after=last) == []
    assert await watched(desk, match.game) == [see(desk, await match.table(), None)]


async def test_each_viewer_sees_what_he_may(desk: Desk) -> None:
    """A seat sees its own hand and draws, the others' not, and a spectator none: in batches as in the table (G3)."""
    match = await playing(desk, 2, deals=1)
    await match.to_the_end()
    for seat, token in (*enumerate(match.tokens), (None, None)):
        events = events_of(await watched(desk, match.game, token, after=1))
        dealt = next(event for event in events if isinstance(event, DealStarted))
        assert [index for index, hand in enumerate(dealt.hands) if hand is not None] == [n for n in (0, 1) if n == seat]
        drawn = {event.seat for event in events if isinstance(event, Drew) and event.cards is not None}
        assert drawn == ({seat} if seat is not None else set())


async def test_a_seat_is_followed_when_seats_move_up(desk: Desk) -> None:
    """The player of seat 3 of four is seat 1 of the two who start: his stream has the hand of seat 1."""
    table = await opened(desk, 4)
    tokens = [
        (await join(desk, table.game, display_name=name, seat=seat, request_id="")).token
        for name, seat in (("Ann", 1), ("Bo", 3))
    ]
    async with aclosing(watching(desk, table.game, tokens[1])) as stream:
        first = await anext(stream)
        assert isinstance(first, SeenTable)
        assert first.viewer == 3
        await start(desk, table.game, tokens[0], request_id="")
        begun = await anext(stream)
    assert isinstance(begun, SeenBatch)
    assert begun.events[0] == MatchStarted((1, 3))
    dealt = begun.events[1]
    assert isinstance(dealt, DealStarted)
    state = (await stored(desk, table.game)).match
    assert state is not None
    assert dealt.hands == (None, state.hands[1])


async def test_who_leaves_is_told_so_and_nothing_more(desk: Desk) -> None:
    """The stream of a seat that is given up ends with that news: what the stand-in draws is no longer for its eyes."""
    match = await playing(desk, 3)
    seat, token = await match.turn()
    async with aclosing(watching(desk, match.game, token, after=3)) as stream:
        await anext(stream)
        await leave(desk, match.game, token, request_id="")
        batch = await anext(stream)
        assert isinstance(batch, SeenBatch)
        assert batch.events[0] == SeatLeft(seat)
        assert [event.cards for event in batch.events if isinstance(event, Drew)] == [None]
        with refused(GameReason.TOKEN_INVALID):
            await anext(stream)


async def test_the_others_go_on_when_somebody_leaves(desk: Desk) -> None:
    """The streams of those who stay, and of spectators, do not end with a seat that is given up."""
    match = await playing(desk, 3)
    seat, token = await match.turn()
    await leave(desk, match.game, token, request_id="")
    async with aclosing(watching(desk, match.game, match.tokens[(seat + 1) % 3], after=4)) as stream:
        await anext(stream)
        acted = await match.move()
        batch = await anext(stream)
    assert isinstance(batch, SeenBatch)
    assert (batch.version, batch.events) == (acted.version, acted.events)


async def test_a_watch_of_an_abandoned_match_ends(desk: Desk) -> None:
    """When the last player has left there is nothing more to come, and spectators are let go."""
    match = await playing(desk)
    for token in match.tokens:
        await leave(desk, match.game, token, request_id="")
    items = await watched(desk, match.game, after=3)
    assert [type(event) for event in events_of(items)][-2:] == [SeatLeft, MatchAbandoned]


@pytest.mark.parametrize("token", ["", "rst_unknown"])
async def test_a_token_that_is_none_of_the_table_watches_nothing(desk: Desk, token: str) -> None:
    """A wrong token is refused before anything is shown, though a spectator needs none."""
    match = await playing(desk)
    with refused(GameReason.TOKEN_INVALID):
        await watched(desk, match.game, token)


async def test_a_game_that_is_not_there_is_not_watched(desk: Desk) -> None:
    """A game that never was, or has expired, is not found."""
    with refused(GameReason.GAME_NOT_FOUND):
        await watched(desk, "nowhere")


async def test_silence_is_filled_with_heartbeats(desk: Desk, clock: Clock) -> None:
    """While nothing happens a sign of life comes, with the version and the server's time, and then what happens."""
    match = await playing(desk)
    async with aclosing(watching(desk, match.game, after=3, heartbeat_s=0.02)) as stream:
        assert await anext(stream) == Heartbeat(3, clock.now)
        acted = await match.move()
        item = await anext(stream)
        while isinstance(item, Heartbeat):
            item = await anext(stream)
    assert item.version == acted.version


async def test_a_lost_history_is_made_up_for_by_the_table(desk: Desk) -> None:
    """Where the versions that follow are no longer kept the watcher is given the table of now, never a gap."""
    match = await playing(desk)
    acted = await match.move()
    store = desk.store
    await store._link.client.xtrim(store._keys.of(match.game).history, maxlen=1, approximate=False)
    async with aclosing(watching(desk, match.game, after=1)) as stream:
        assert await anext(stream) == see(desk, await match.table(), None)
        further = await match.move()
        batch = await anext(stream)
    assert (acted.version, batch.version) == (4, further.version)


async def test_a_version_that_was_lost_is_made_up_for_by_the_table(desk: Desk, redis_url: str) -> None:
    """Where another version has taken the number of one that a watcher was given, live or in a stream before, he is
    given the table of now, and what follows it; who was given the version that is stored goes on from it.
    """
    match = await playing(desk)
    keys = desk.store._keys.of(match.game)
    async with aclosing(watching(desk, match.game, after=3)) as live:
        kept = keep(redis_url, keys)
        lost = await put_down(desk, await match.table(), display_name="lost")
        assert (await anext(live)).version == lost.version == 4
        bring_back(redis_url, keys, kept)
        told = await put_down(desk, await match.table(), display_name="told")
        assert told.version == 4
        following = await put_down(desk, told)
        for mark, first in ((lost.mark, SeenTable), (told.mark, SeenBatch), (b"", SeenBatch)):
            async with aclosing(watching(desk, match.game, after=4, mark=mark)) as resumed:
                item = await anext(resumed)
            assert (type(item), item.version) == (first, following.version)
        shown = await anext(live)
        assert isinstance(shown, SeenTable)
        last = await put_down(desk, following)
        further: list[Observed] = [shown]
        while further[-1].version < last.version:
            further.append(await anext(live))
    assert [item.version for item in further] == list(range(shown.version, last.version + 1))


async def test_a_lost_version_is_noticed_before_anything_follows_it(desk: Desk, redis_url: str) -> None:
    """Who resumes at the number that the table is at, with the mark of another version, is given the table at once."""
    match = await playing(desk)
    keys = desk.store._keys.of(match.game)
    kept = keep(redis_url, keys)
    lost = await put_down(desk, await match.table())
    bring_back(redis_url, keys, kept)
    await put_down(desk, await match.table(), display_name="told")
    async with aclosing(watching(desk, match.game, after=lost.version, mark=lost.mark)) as stream:
        item = await anext(stream)
    assert isinstance(item, SeenTable)
    assert item.display_name == "told"


async def test_a_history_lost_after_the_end_is_made_up_for_by_the_table(desk: Desk) -> None:
    """Of a match that is over and whose history is gone the table is the last word."""
    match = await playing(desk)
    await match.to_the_end()
    store = desk.store
    await store._link.client.xtrim(store._keys.of(match.game).history, maxlen=0, approximate=False)
    assert await watched(desk, match.game, after=2) == [see(desk, await match.table(), None)]


async def test_a_slow_reader_is_told_where_to_go_on(redis_url: str, clock: Clock, store: BusyStore) -> None:
    """Who falls behind is given what was kept for him, then the version to resume from: never a gap."""
    options = Options(namespace=store._options.namespace, feed=FeedLimits(room=2))
    narrow = await Store.connect(redis_url, patient(options))
    try:
        desk = Desk(narrow, clock)
        match = await playing(desk)
        async with aclosing(watching(desk, match.game, after=3)) as stream:
            first = asyncio.create_task(anext(stream))
            await match.move()
            seen = [(await first).version]
            for _ in range(4):
                await match.move(any_legal)
            await read_all_of(desk, match)
            with refused(GameReason.FELL_BEHIND) as refusal:
                async for item in stream:
                    seen.append(item.version)  # noqa: PERF401  those before the refusal count, too
        assert seen == [4, 5, 6]
        assert refusal.value.metadata == {"last_version": "6"}
    finally:
        await narrow.close()


async def read_all_of(desk: Desk, match: Match) -> None:
    """Waits until the desk's store has heard of all that happened, as a second watcher of the match does."""
    last = (await match.table()).version
    async with aclosing(watching(desk, match.game, after=3)) as stream:
        async for item in stream:
            if item.version == last:
                return


async def test_a_server_that_stops_sends_its_watchers_elsewhere(redis_url: str, clock: Clock) -> None:
    """When the store is closed under a watch its reader is told that the server drains, not that anything failed."""
    own = await Store.connect(redis_url, patient(Options(namespace="test-drain")))
    desk = Desk(own, clock)
    match = await playing(desk)
    async with aclosing(watching(desk, match.game, after=3)) as stream:
        reading = asyncio.create_task(anext(stream))
        acted = await match.move()
        assert (await reading).version == acted.version
        await own.feed.close()
        with refused(GameReason.SERVER_DRAINING):
            await anext(stream)
    await own.close()


async def test_a_watch_that_has_begun_outlives_a_store_that_is_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the store is lost just after the table was shown, the watch waits for it, and then misses nothing."""
    match = await playing(desk)
    watch, tried = desk.store.feed.watch, list[int | None]()

    def away_at_first(game: str, after: int, mark: bytes) -> AbstractAsyncContextManager[Watch]:
        tried.append(after)
        if len(tried) == 1:
            raise StoreUnavailable("away")
        return watch(game, after, mark)

    monkeypatch.setattr(desk.store.feed, "watch", away_at_first)
    async with aclosing(watching(desk, match.game)) as stream:
        shown = await anext(stream)
        acted = await match.move()
        batch = await anext(stream)
    assert batch.version == acted.version == shown.version + 1
    assert tried == [shown.version, shown.version]


@pytest.mark.parametrize("lost", ["load", "watch"])
async def test_a_watcher_hears_while_the_store_is_away(
    desk: Desk, clock: Clock, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """While the table cannot be loaded, or not be subscribed to, heartbeats go on, and then nothing is missing."""
    match = await playing(desk)
    place = desk.store if lost == "load" else desk.store.feed
    called: list[str] = []

    def away(game: str, *_: object) -> NoReturn:
        called.append(game)
        raise StoreUnavailable("away")

    async with aclosing(watching(desk, match.game, after=3, heartbeat_s=0.02)) as stream:
        assert await anext(stream) == Heartbeat(3, clock.now)
        with monkeypatch.context() as patch:
            patch.setattr(place, lost, away)
            for watch in set(desk.store.feed._topics[match.game].watches):
                watch.end(StoreUnavailable("away"))
            while len(called) < 3:
                assert await anext(stream) == Heartbeat(3, clock.now)
        acted = await match.move()
        item = await anext(stream)
        while isinstance(item, Heartbeat):
            item = await anext(stream)
    assert item.version == acted.version


async def test_a_store_that_comes_back_with_another_history_is_begun_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table of another epoch is there after an outage, its versions are not taken for those that follow."""
    match = await playing(desk)

    def lost_meanwhile(game: str, after: int, mark: bytes) -> AbstractAsyncContextManager[Watch]:
        monkeypatch.undo()
        return LostMeanwhile(desk, match)

    monkeypatch.setattr(desk.store.feed, "watch", lost_meanwhile)
    async with aclosing(watching(desk, match.game, after=3)) as stream:
        shown = await anext(stream)
    assert isinstance(shown, SeenTable)
    assert (shown.epoch, shown.version) == ("another", 4)


class LostMeanwhile(AbstractAsyncContextManager[Watch]):
    """A watch that cannot begin; in the meantime the table is one of another epoch."""

    def __init__(self, desk: Desk, match: Match) -> None:
        self._desk, self._match = desk, match

    async def __aenter__(self) -> Watch:
        store = self._desk.store
        table = replace(await self._match.table(), version=1, epoch="another")
        keys = store._keys.of(table.game)
        await store._link.client.delete(keys.game, keys.history)
        created = await store.create(table, Batch(version=1, time_ms=table.updated_ms, actor=None))
        assert isinstance(created, Created)
        table = created.table
        for _ in range(3):
            table = await put_down(self._desk, table)
        raise StoreUnavailable("away")

    async def __aexit__(self, *error: object) -> None:
        raise NotImplementedError


async def test_a_game_that_expires_while_it_is_watched_is_gone(desk: Desk) -> None:
    """Where the table is no more when its history is to be read the watcher is told so."""
    match = await playing(desk)
    store = desk.store
    async with aclosing(watching(desk, match.game)) as stream:
        await anext(stream)
        keys = store._keys.of(match.game)
        await store._link.client.delete(keys.game, keys.history)
        with refused(GameReason.GAME_NOT_FOUND):
            await anext(stream)


async def test_a_watch_that_is_given_up_leaves_nothing_behind(desk: Desk) -> None:
    """Whoever stops watching, at whatever point, leaves no subscription."""
    match = await playing(desk)
    for taken in range(3):
        async with aclosing(watching(desk, match.game, match.tokens[0], after=1)) as stream:
            for _ in range(taken):
                await anext(stream)
    assert held(desk.store.feed).watches == 0


async def test_batches_handed_out_are_counted(desk: Desk) -> None:
    """The metrics count each batch that a watcher takes."""
    match = await playing(desk)
    await match.to_the_end()
    before = metrics.events_delivered._value.get()
    items = await watched(desk, match.game, after=1)
    assert metrics.events_delivered._value.get() - before == len(items)


async def test_a_deal_that_ends_is_open_to_all(desk: Desk) -> None:
    """What was hidden in a deal is told to every watcher when it is over: hands and seed (G6)."""
    match = await playing(desk, deals=2)
    await match.to_the_end()
    ends = [event for event in events_of(await watched(desk, match.game, after=1)) if isinstance(event, DealEnded)]
    assert [(end.deal, len(end.hands), len(end.seed)) for end in ends] == [(1, 2, 32), (2, 2, 32)]


async def test_two_watchers_have_one_subscription(desk: Desk) -> None:
    """However many watch a game here, the store is asked for it once."""
    match = await playing(desk)
    async with (
        aclosing(watching(desk, match.game, after=2)) as one,
        aclosing(watching(desk, match.game, after=2)) as two,
    ):
        await anext(one)
        await anext(two)
        load = held(desk.store.feed)
    assert (load.games, load.watches) == (1, 2)


async def test_a_player_who_joins_is_seen_under_the_seats_number(desk: Desk) -> None:
    """Players who sit down one after the other are told of one after the other."""
    table = await opened(desk, 4)
    await joined(desk, table.game, 3)
    async with aclosing(watching(desk, table.game, after=1)) as stream:
        batches = [await anext(stream) for _ in range(3)]
    assert events_of(batches) == [SeatJoined(seat, f"player {seat}") for seat in range(3)]


async def test_an_empty_version_is_a_batch_too(desk: Desk) -> None:
    """A version without events comes as a batch without events: there is no gap to wonder about."""
    table = await put_down(desk, await opened(desk))
    async with aclosing(watching(desk, table.game, after=1)) as stream:
        assert await anext(stream) == SeenBatch(2, table.updated_ms, (), table.epoch, table.mark)
