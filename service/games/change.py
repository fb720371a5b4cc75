"""The one way in which a game changes: decide on the newest table, write if nothing came between, else decide again.

A retry of a call (the same request id) is answered with what the first one did, and decides nothing.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from engine.errors import BadRequest, Refused
from engine.events import Event
from service.games.desk import Desk
from service.games.errors import GameError
from service.observability import metrics
from service.store.store import Answered, Committed, Conflict, Gone, Request
from service.store.table import Batch, Table, TableEvent

__all__ = ["Changed", "Decision", "change", "load", "request_of"]

_TRIES: Final = 8
"""Each failed try means that another call succeeded, so that a table never stands still."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a use case made of a table: the next one, who did it (a seat, or None), and the events, unredacted."""

    table: Table
    actor: int | None
    events: tuple[TableEvent | Event, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that is written, by this call or by the first with its request id.

    `table` is the newest one, at or after `version`; `batch` is what the change did (None: it is no longer kept).
    """

    version: int
    table: Table
    batch: Batch | None


def request_of(caller: str, request_id: str, *payload: object) -> Request | None:
    """The store's key and fingerprint of a call, None without a request id.

    `caller` tells whose request ids these are; `payload` is what a call with the same id must repeat.
    """
    if not request_id:
        return None
    fingerprint = hashlib.sha256(msgspec.msgpack.encode(payload)).digest()[:8]
    return Request(f"{caller}:{request_id.lower()}", fingerprint)


async def load(desk: Desk, game: str) -> Table:
    """The newest table of the game. Raises GAME_NOT_FOUND."""
    loaded = await desk.store.load(game)
    if loaded is None:
        raise _gone(desk, game)
    desk.hints.put(loaded.table)
    return loaded.table


async def change(desk: Desk, game: str, request: Request | None, decide: Callable[[Table], Decision]) -> Changed:
    """Changes the game as `decide` says.

    `decide` gets a table and gives the next one, or raises GameError, Refused or BadRequest; it may be called several
    times. The version and the time of the next table are filled in here. Raises what `decide` raises, GAME_NOT_FOUND,
    REQUEST_ID_REUSED, and CONTENTION when others came between at every try.
    """
    table, fresh = desk.hints.get(game), False
    tries = 0
    while tries < _TRIES:
        if table is None:
            loaded = await desk.store.load(game, request)
            if loaded is None:
                raise _gone(desk, game)
            if loaded.answered is not None:
                return await _replayed(desk, loaded.answered, loaded.table)
            table, fresh = loaded.table, True
        try:
            decision = decide(table)
        except (GameError, Refused, BadRequest):
            if fresh:
                desk.hints.put(table)
                raise
            table = None  # it was judged on a hint, which may be out of date
            continue
        outcome = await _commit(desk, table, decision, request)
        if isinstance(outcome, Changed):
            return outcome
        table, fresh = outcome, True
        tries += 1
    raise GameError("CONTENTION", f"games/{game} changed {tries} times while this call was tried; try again")


async def _commit(desk: Desk, table: Table, decision: Decision, request: Request | None) -> Changed | Table:
    """Writes the decision made on `table`; gives the newer table instead if there is one."""
    now = max(desk.now_ms(), table.updated_ms)
    after = replace(decision.table, version=table.version + 1, updated_ms=now)
    batch = Batch(version=after.version, time_ms=now, actor=decision.actor, events=decision.events)
    outcome = await desk.store.commit(after, batch, request)
    match outcome:
        case Committed():
            desk.hints.put(after)
            return Changed(after.version, after, batch)
        case Answered():
            return await _replayed(desk, outcome, await load(desk, table.game))
        case Conflict(newer):
            metrics.commit_conflicts.inc()
            return newer
        case Gone():
            raise _gone(desk, table.game)


async def _replayed(desk: Desk, answered: Answered, newest: Table) -> Changed:
    """What the first call with this request id did."""
    if not answered.same_payload:
        raise GameError("REQUEST_ID_REUSED", "this request id was used for another call; make a new one for each")
    batch = await desk.store.batch(newest.game, answered.version)
    desk.hints.put(newest)
    return Changed(answered.version, newest, batch)


def _gone(desk: Desk, game: str) -> GameError:
    desk.hints.forget(game)
    return GameError("GAME_NOT_FOUND", f"there is no game games/{game}, or it has expired", {"game": f"games/{game}"})
