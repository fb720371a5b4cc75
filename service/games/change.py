"""The one way in which a game changes: decide on the newest table, write if nothing came between, else decide again.

A retry of a call (the same request id) is answered with what the first one did, and decides nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from engine.errors import BadRequest, Refused
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.play import Course
from service.games.retries import reused
from service.games.timing import timed
from service.observability.traces import span
from service.store.errors import StoreUnavailable
from service.store.outcome import Answered, Committed, Conflict, Gone, Request
from service.store.table import SCHEMA, Batch, Table

__all__ = ["Changed", "Decision", "NothingToDo", "change", "load"]

_TRIES: Final = 8
"""Each failed try means that another call succeeded, so that a table never stands still."""


class NothingToDo(Exception):
    """What was to be done is done already, or not called for."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a use case made of a table: how the game goes on, and who did it.

    `actor` is a seat, by its number before the change; None: nobody at the table.
    """

    actor: int | None
    course: Course


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that is written, by this call or, `repeated` by it, by the first with its request id.

    `table` is the newest one, at or after `version`; `batch` is what the change did (None: it is no longer kept).
    """

    version: int
    table: Table
    batch: Batch | None
    repeated: bool = False


async def load(desk: Desk, game: str) -> Table:
    """The newest table of the game. Raises GAME_NOT_FOUND."""
    loaded = await desk.store.load(game)
    if loaded is None:
        raise _gone(desk, game)
    desk.last_seen.put(loaded.table)
    return loaded.table


async def change(desk: Desk, game: str, request: Request | None, decide: Callable[[Table], Decision]) -> Changed:
    """Changes the game as `decide` says.

    `decide` gets a table and gives the next one, or raises GameError, Refused, BadRequest or NothingToDo; it may be
    called several times. The version, the time and the turn's clock of the next table are filled in here. That there
    was nothing to do is kept with the request, as a change is; a refusal is not. Raises what `decide` raises,
    GAME_NOT_FOUND, REQUEST_ID_REUSED, and CONTENTION when others came between at every try.
    """
    table, fresh = desk.last_seen.get(game), False
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
            with span("decide"):
                decision = decide(table)
        except (GameError, Refused, BadRequest, NothingToDo) as refusal:
            if not fresh:
                table = None  # it was judged on the one last seen, which may be out of date
                continue
            desk.last_seen.put(table)
            if not isinstance(refusal, NothingToDo):
                raise
            outcome = await _remember(desk, table, request)
        else:
            outcome = await _commit(desk, table, decision, request)
        if isinstance(outcome, Changed):
            return outcome
        table, fresh = outcome, True
        tries += 1
    text = f"games/{game} changed {tries} times while this call was tried; try again"
    raise GameError(GameReason.CONTENTION, text)


async def _commit(desk: Desk, table: Table, decision: Decision, request: Request | None) -> Changed | Table:
    """Writes the decision made on `table`; gives the newer table instead if there is one."""
    now = max(desk.now_ms(), table.updated_ms)
    course = decision.course
    after = replace(course.table, schema=SCHEMA, version=table.version + 1, updated_ms=now)
    after = timed(desk, table, after, now)
    batch = Batch(version=after.version, time_ms=now, actor=decision.actor, events=course.events)
    due_ms = after.clock.due_ms if after.clock else None
    try:
        outcome = await desk.store.commit(after, batch, request, record=course.record, due_ms=due_ms)
    except StoreUnavailable:
        desk.last_seen.forget(table.game)  # it may be written all the same, or something else before it
        raise
    match outcome:
        case Committed(stored):
            desk.last_seen.put(stored)
            return Changed(stored.version, stored, batch)
        case Answered() as answered:
            return await _replayed(desk, answered, await load(desk, table.game))
        case Conflict(newer):
            return newer
        case Gone():
            raise _gone(desk, table.game)


async def _remember(desk: Desk, table: Table, request: Request | None) -> Changed | Table:
    """Keeps that the request found nothing to do at this table, and raises NothingToDo: it does nothing however late it
    comes again. Gives the newer table instead if there is one, or what the first call with its id did.
    """
    if request is None:
        raise NothingToDo
    match await desk.store.remember(table, request):
        case Committed():
            raise NothingToDo
        case Answered() as answered:
            return await _replayed(desk, answered, await load(desk, table.game))
        case Conflict(newer):
            return newer
        case Gone():
            raise _gone(desk, table.game)


async def _replayed(desk: Desk, answered: Answered, newest: Table) -> Changed:
    """What the first call with this request id did."""
    desk.last_seen.put(newest)
    if not answered.same_payload:
        raise reused()
    return Changed(answered.version, newest, await desk.store.batch(newest.game, answered.version), repeated=True)


def _gone(desk: Desk, game: str) -> GameError:
    desk.last_seen.forget(game)
    name = f"games/{game}"
    return GameError(GameReason.GAME_NOT_FOUND, f"there is no game {name}, or it has expired", {"game": name})
