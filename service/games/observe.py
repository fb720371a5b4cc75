"""Watching a table: every version in order, without gap or duplicate, as the viewer may see it.

observe    as a stream
poll       page by page, for those who cannot keep a stream open (`service.games.poll`); both go on from the same place
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

from engine.events import MatchEnded
from service.games.change import load
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.rematch import rematch_of
from service.games.seen import SeenBatch, SeenTable, see, see_batch
from service.games.tokens import onlooker_of, viewer_of
from service.observability import metrics
from service.store.backoff import Backoff
from service.store.errors import FellBehind, GameGone, HistoryLost, StoreUnavailable
from service.store.table import Batch, MatchAbandoned, MatchStarted, Phase, SeatLeft, Table, differ
from service.store.watch import Watch

__all__ = ["Heartbeat", "Observed", "follows", "is_over", "observe", "told_to_watchers"]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Nothing has happened for a while; the game is at this version. `time_ms`: ms since 1970."""

    version: int
    time_ms: int


Observed = SeenTable | SeenBatch | Heartbeat


async def observe(
    desk: Desk, game: str, token: str | None, *, after: int, epoch: str, mark: bytes = b"", heartbeat_s: float
) -> AsyncGenerator[Observed]:
    """Everything that happens at a table after version `after`, until the match ends.

    Begins with the table itself where `after` is 0, ahead of the game, or of another epoch or mark than these (empty:
    any); and gives it again where versions that follow are no longer kept, or one that was given is no more, as Redis
    has failed over without it. Once it has begun it outlives a store that is away for a while. Heartbeats come after
    `heartbeat_s` seconds of silence, then, too (up to two seconds later, the wait for a subscription that is not to be
    had). Raises GAME_NOT_FOUND, TOKEN_INVALID (at once, or when the viewer's seat is given up), FELL_BEHIND,
    SERVER_DRAINING, the store's errors, and without a token SPECTATORS_NOT_ALLOWED where the table keeps spectators
    away.
    """
    table = await load(desk, game)
    whole = not follows(table, after, epoch, mark)
    said = _now()
    while True:
        viewer = onlooker_of(table, token)
        if whole:
            yield see(desk, table, viewer, rematch=await rematch_of(desk, table, viewer))
            after, mark, said = table.version, table.mark, _now()
        if is_over(table) and after >= table.version:
            return
        try:
            with told_to_watchers(desk, game):
                async with (
                    desk.store.feed.watch(game, after, mark) as watch,
                    aclosing(_follow(desk, watch, token, viewer, table, heartbeat_s=heartbeat_s)) as followed,
                ):
                    async for seen in followed:
                        yield seen
                        said = _now()
                        if isinstance(seen, SeenBatch):
                            after, mark = seen.version, seen.mark
            return
        except HistoryLost:
            whole = True
        except StoreUnavailable:
            epoch, whole = table.epoch, False
        async with aclosing(_loaded(desk, game, after, said=said, heartbeat_s=heartbeat_s)) as waiting:
            async for found in waiting:
                if isinstance(found, Heartbeat):
                    yield found
                    said = _now()
                else:
                    table = found
        whole = whole or not follows(table, after, epoch, mark)


def follows(table: Table, after: int, epoch: str, mark: bytes) -> bool:
    """Whether a watcher may go on after this version of this epoch and mark (empty: any), as far as the table can tell.

    Else he begins with the table.
    """
    if after == table.version and differ(mark, table.mark):
        return False
    return 0 < after <= table.version and epoch in {"", table.epoch}


def is_over(table: Table) -> bool:
    """Whether no version will ever follow the table's."""
    return table.phase in {Phase.FINISHED, Phase.ABANDONED}


@contextmanager
def told_to_watchers(desk: Desk, game: str) -> Iterator[None]:
    """Turns what ends a watch into what its reader is told, but for a lost history."""
    try:
        yield
    except FellBehind as error:
        text = f"too slow a reader: go on from version {error.last_version}"
        raise GameError(GameReason.FELL_BEHIND, text, {"last_version": str(error.last_version)}) from error
    except GameGone as error:
        text = f"games/{game} has expired"
        raise GameError(GameReason.GAME_NOT_FOUND, text, {"game": f"games/{game}"}) from error
    except StoreUnavailable as error:
        if desk.store.feed.closed:
            raise GameError(GameReason.SERVER_DRAINING, "the server stops; go on with another") from error
        raise


async def _follow(
    desk: Desk, watch: Watch, token: str | None, viewer: int | None, known: Table, *, heartbeat_s: float
) -> AsyncGenerator[SeenBatch | Heartbeat]:
    """What the watch gives, redacted, until the match ends.

    `known` is the table as it was when the watch began: versions up to its own are no news, and not timed.
    """
    while True:
        batch = await watch.next(heartbeat_s)
        if batch is None:
            yield Heartbeat(watch.last_version, desk.now_ms())
            continue
        revoked: GameError | None = None
        if token is not None and _moves_seats(batch):
            # The table of now will do: seats are numbered anew once, when the match starts, and a token that is
            # revoked by now sees nothing more whenever that was.
            newest = await load(desk, watch.game)
            try:
                viewer = viewer_of(newest, token)
            except GameError as error:
                if not newest.spectators:
                    raise
                viewer, revoked = None, error
        yield see_batch(batch, viewer, known.epoch)
        metrics.events_delivered.inc()
        if batch.version > known.version:
            metrics.delivery_seconds.observe(max(0, desk.now_ms() - batch.time_ms) / 1000)
        if revoked is not None:
            raise revoked
        if any(isinstance(event, MatchEnded | MatchAbandoned) for event in batch.events):
            return


async def _loaded(
    desk: Desk, game: str, version: int, *, said: float, heartbeat_s: float
) -> AsyncGenerator[Heartbeat | Table]:
    """The newest table, as soon as the store can be reached, and before it the heartbeats of a watcher who has been
    told of this version, and was told something last at `said`. Raises GAME_NOT_FOUND, SERVER_DRAINING.
    """
    loading = asyncio.create_task(_load_patiently(desk, game))
    try:
        while not (await asyncio.wait([loading], timeout=max(0.0, said + heartbeat_s - _now())))[0]:
            yield Heartbeat(version, desk.now_ms())
            said = _now()
        yield await loading
    finally:
        loading.cancel()
        await asyncio.wait([loading])


async def _load_patiently(desk: Desk, game: str) -> Table:
    """The newest table, as soon as the store can be reached. Raises GAME_NOT_FOUND, SERVER_DRAINING."""
    backoff = Backoff(most_s=0.5)
    while True:
        try:
            with told_to_watchers(desk, game):
                if desk.store.feed.closed:
                    raise StoreUnavailable("the store is closed")
                return await load(desk, game)
        except StoreUnavailable:
            await backoff.pause()


def _now() -> float:
    """Seconds that only go on."""
    return asyncio.get_running_loop().time()


def _moves_seats(batch: Batch) -> bool:
    """Whether a seat may have another number, or another player, from this batch on."""
    return any(isinstance(event, MatchStarted | SeatLeft) for event in batch.events)
