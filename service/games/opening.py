"""A new table: what is asked for, and putting it up with nobody there yet, or with those who have seats already."""

import hashlib
from base64 import b32encode
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from engine.errors import BadRules
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from service.games.codes import new_code
from service.games.desk import Desk
from service.games.fit import faults_at, settled
from service.store.outcome import Answered, CodeTaken, Created, Exists, Request
from service.store.table import Batch, Phase, Seat, Table, TurnLimit

__all__ = ["ID_LENGTH", "Permit", "Wanted", "likeness_of", "must_be_playable", "new_id", "put_up"]

ID_LENGTH: Final = 20
"""Base-32 digits: 100 bits, so that a table's name cannot be guessed."""


Permit: TypeAlias = Callable[[], Callable[[], None]]
"""Asked before a table is put up: raises where there may be none, else gives what tells that none was made."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A table as it is asked for."""

    preset: str
    rules: RuleSet
    seat_count: int
    display_name: str = ""
    limit: TurnLimit | None = None
    private: bool = False
    """Whether it is found by its code alone."""
    spectators: bool = True
    """Whether those who have no seat may look on."""


def must_be_playable(wanted: Wanted) -> None:
    """Raises BadRules with every fault of the rule set at a table of so many seats."""
    found = faults_at(wanted.rules, wanted.seat_count)
    if found:
        raise BadRules(found)


async def put_up(
    desk: Desk,
    game: str,
    wanted: Wanted,
    *,
    seats: Sequence[Seat] = (),
    request: Request | None = None,
    permit: Permit | None = None,
) -> Table | Answered | Exists:
    """Puts up a table under this id, at version 1; where there is one already nothing changes.

    `seats`: who sits there from the beginning; left out: nobody. Raises what `permit` raises.
    """
    none_made = permit() if permit else None
    while True:
        table = _new(desk, game, wanted, seats)
        match await desk.store.create(table, Batch(version=1, time_ms=table.created_ms, actor=None), request):
            case Created(stored):
                desk.last_seen.put(stored)
                return stored
            case CodeTaken():
                continue
            case Answered() | Exists() as known:
                if none_made:
                    none_made()
                return known


def likeness_of(wanted: Wanted) -> str:
    """What the table has in common with others that a player may take for it: rules, seats, limit, spectators.

    The rules as so many players play by them: what is left out is alike what the server fills in.
    """
    common = (settled(wanted.rules, wanted.seat_count), wanted.seat_count, wanted.limit, wanted.spectators)
    return hashlib.sha256(msgspec.msgpack.encode(common)).hexdigest()[:32]


def new_id(desk: Desk, request_id: str = "") -> str:
    """A new game's id.

    The same request id gives the same id, so that a retry meets the table that the first call made.
    """
    source = hashlib.sha256(b"game:" + request_id.lower().encode()).digest() if request_id else desk.chance(32)
    return b32encode(source).decode().lower()[:ID_LENGTH]


def _new(desk: Desk, game: str, wanted: Wanted, seats: Sequence[Seat]) -> Table:
    now = desk.now_ms()
    return Table(
        game=game,
        epoch=desk.chance(8).hex(),
        version=1,
        phase=Phase.OPEN,
        display_name=wanted.display_name,
        created_ms=now,
        updated_ms=now,
        preset=wanted.preset,
        rules=wanted.rules,
        seats=tuple(seats) or (Seat(),) * wanted.seat_count,
        secret=desk.chance(32),
        seeds=(desk.chance(SEED_SIZE), desk.chance(SEED_SIZE)),
        limit=wanted.limit,
        code=new_code(desk, game) if wanted.private else "",
        likeness="" if wanted.private else likeness_of(wanted),
        spectators=wanted.spectators,
    )
