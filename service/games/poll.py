"""Polling a table: what a watcher is told, page by page, for those who cannot keep a stream open."""

from dataclasses import dataclass

from service.games.change import load
from service.games.desk import Desk
from service.games.observe import follows, is_over, told_to_watchers
from service.games.rematch import rematch_of
from service.games.seen import SeenBatch, SeenTable, see, see_batch
from service.games.tokens import onlooker_of
from service.observability import metrics
from service.observability.account import waiting
from service.store.errors import HistoryLost

__all__ = ["Polled", "poll"]


@dataclass(frozen=True, slots=True)
class Polled:
    """What has happened after a version, as the viewer may see it.

    Either the whole table (`snapshot`), or the batches that follow, in order; neither where nothing has happened yet.
    """

    snapshot: SeenTable | None
    batches: tuple[SeenBatch, ...]
    version: int
    """What to go on after, in this `epoch`, and with this `mark`."""
    epoch: str
    mark: bytes
    more: bool
    """Later versions are there already."""
    over: bool
    """Nothing will ever follow `version`."""


async def poll(
    desk: Desk, game: str, token: str | None, *, after: int, epoch: str, mark: bytes = b"", size: int, wait_s: float
) -> Polled:
    """The first `size` ≥ 1 versions after version `after`, or the table itself where `observe` would begin with it.

    Where there is nothing to tell it waits for that, `wait_s` seconds at most. Raises GAME_NOT_FOUND, TOKEN_INVALID,
    SERVER_DRAINING, SPECTATORS_NOT_ALLOWED, and the store's errors.
    """
    polled = await _read(desk, game, token, after, epoch, mark=mark, size=size)
    nothing = not (polled.snapshot or polled.batches or polled.over)
    if nothing and wait_s > 0 and await _news(desk, game, after, mark, wait_s):
        polled = await _read(desk, game, token, after, epoch, mark=mark, size=size)
    metrics.events_delivered.inc(len(polled.batches))
    return polled


async def _read(desk: Desk, game: str, token: str | None, after: int, epoch: str, *, mark: bytes, size: int) -> Polled:
    """What is there now.

    The history first: the table, read after it, knows whose the token is after every one of these versions. So a seat
    that was given up reads nothing more, and one that has moved up, as seats do once, its own hands.
    """
    history = await desk.store.history(game, after, size) if after else None
    table = await load(desk, game)
    viewer = onlooker_of(table, token)
    found = history.batches if history else ()
    # The next version that is kept must be the next one of all, and of this table: else there is a gap.
    kept = history is not None and (found[0].follows(after, mark) if found else history.last_version == after)
    if not (kept and follows(table, after, epoch, mark) and after + len(found) <= table.version):
        seen = see(desk, table, viewer, rematch=await rematch_of(desk, table, viewer))
        return Polled(seen, (), table.version, table.epoch, table.mark, more=False, over=is_over(table))
    batches = tuple(see_batch(batch, viewer, table.epoch) for batch in found)
    version = after + len(batches)
    more = version < table.version
    last = found[-1].mark if found else table.mark if after == table.version else mark
    return Polled(None, batches, version, table.epoch, last, more=more, over=is_over(table) and not more)


async def _news(desk: Desk, game: str, after: int, mark: bytes, wait_s: float) -> bool:
    """Waits until there is something to read after this version; whether there is."""
    try:
        with told_to_watchers(desk, game):
            async with desk.store.feed.watch(game, after, mark) as watch:
                with waiting():
                    return await watch.next(wait_s) is not None
    except HistoryLost:
        return True
