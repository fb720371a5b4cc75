"""A table as one viewer may see it: what every answer is made from. No secret of the table passes here (G3)."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from engine.events import DealEnded, Event
from engine.rules import RuleSet
from engine.view import View, redact, view
from service.games.desk import Desk
from service.games.fit import settled
from service.store.table import Batch, Phase, Seat, Table, TableEvent, TurnLimit

__all__ = ["SeatState", "SeenBatch", "SeenSeat", "SeenTable", "see", "see_batch", "see_events"]


class SeatState(StrEnum):
    """Free to join, taken, given up during the match, or kept for a player who has missed too many turns."""

    FREE = "free"
    TAKEN = "taken"
    LEFT = "left"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class SeenSeat:
    """A place at the table."""

    state: SeatState
    display_name: str
    entropy: str
    bot: bool
    bank_ms: int
    """What is left of its time bank; all of it before the match, and for those who may not look on."""


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table, and of its match what the viewer (a seat, or None: a spectator) may see. Times are ms since 1970."""

    viewer: int | None
    game: str
    epoch: str
    version: int
    phase: Phase
    display_name: str
    created_ms: int
    updated_ms: int
    expires_ms: int
    preset: str
    rules: RuleSet
    seats: tuple[SeenSeat, ...]
    commitment: bytes | None
    """SHA-256 of the first deal's seed; None once the match has begun (the view has the commitments then)."""
    entropy: bytes
    """What the players have added to every shuffle; empty before the match begins, and where none of them did."""
    view: View | None
    last_deal: DealEnded | None
    limit: TurnLimit | None
    deadline_ms: int | None
    """When the player to move is played for; None where no limit runs."""
    code: str
    """What a private table is found by; empty: it is public."""
    spectators: bool
    """Whether those who have no seat may look on."""
    rematch: str
    """The game that follows this one; empty: none, or it is not told here."""
    mark: bytes = b""
    """Tells this version from another of the same number; see `Batch.mark`. It is no secret."""


@dataclass(frozen=True, slots=True)
class SeenBatch:
    """The events of one version, redacted."""

    version: int
    time_ms: int
    events: tuple[TableEvent | Event, ...]
    epoch: str
    mark: bytes = b""
    """As in SeenTable."""


def see(desk: Desk, table: Table, viewer: int | None, *, rematch: str = "") -> SeenTable:
    """The table as the seat `viewer`, or a spectator (None), may see it.

    Where no spectators are allowed, one sees of the match that there is one, and nothing else.
    """
    looks_on = viewer is not None or table.spectators
    match, clock = (table.match, table.clock) if looks_on else (None, None)
    return SeenTable(
        viewer=viewer,
        game=table.game,
        epoch=table.epoch,
        version=table.version,
        phase=table.phase,
        display_name=table.display_name,
        created_ms=table.created_ms,
        updated_ms=table.updated_ms,
        expires_ms=table.updated_ms + desk.store.lifetime_ms(table.phase),
        preset=table.preset,
        rules=settled(table.rules, len(table.seats)),
        seats=tuple(_seat(table, seat, looks_on=looks_on) for seat in table.seats),
        commitment=hashlib.sha256(table.seeds[0]).digest() if table.seeds else None,
        entropy=match.entropy if match else b"",
        view=view(match, viewer) if match else None,
        last_deal=table.last_deal if looks_on else None,
        limit=table.limit,
        deadline_ms=clock.due_ms if clock and not clock.thinking else None,
        code=table.code,
        spectators=table.spectators,
        rematch=rematch,
        mark=table.mark,
    )


def see_batch(batch: Batch, viewer: int | None, epoch: str) -> SeenBatch:
    """The batch, of a table of this epoch, as the seat `viewer`, or a spectator (None), may see it."""
    return SeenBatch(batch.version, batch.time_ms, see_events(batch.events, viewer), epoch, batch.mark)


def see_events(events: Iterable[TableEvent | Event], viewer: int | None) -> tuple[TableEvent | Event, ...]:
    """The events as the seat `viewer`, or a spectator (None), may see them. A table's own events hold no secret."""
    return tuple(event if isinstance(event, TableEvent) else redact(event, viewer) for event in events)


def _seat(table: Table, seat: Seat, *, looks_on: bool) -> SeenSeat:
    bank_ms = seat.bank_ms if table.match and looks_on else table.limit.bank_ms if table.limit else 0
    return SeenSeat(_state(seat), seat.display_name, seat.entropy, seat.bot, bank_ms)


def _state(seat: Seat) -> SeatState:
    if seat.left:
        return SeatState.LEFT
    if seat.away:
        return SeatState.AWAY
    return SeatState.TAKEN if seat.taken else SeatState.FREE
