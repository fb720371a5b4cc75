"""Playing again: after a match each of its seats has a place at one follow-up table.

The id of that table follows from the secret of the one before, so that whoever comes first puts it up and all others
meet it there, in any order and on any server. Nothing is written at the table that is over.
"""

import hmac
from base64 import b32encode
from typing import Final

from service.games.change import Decision, NothingToDo, change, load
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.opening import ID_LENGTH, Wanted, put_up
from service.games.retries import request_of
from service.games.seats import Joined, free_seats, must_be_open, seated
from service.games.tokens import hash_of, new_token, seat_of
from service.store.table import Phase, Seat, Table

__all__ = ["rematch", "rematch_of"]

_OVER: Final = frozenset({Phase.FINISHED, Phase.ABANDONED})


async def rematch(desk: Desk, game: str, token: str | None, *, entropy: str = "", request_id: str) -> Joined:
    """Takes the seat's place at the table that follows this one, and puts it up if nobody has yet.

    That table has the same rules, seats, limit and say on spectators, bots where they were, and is private. The seat
    has the same number, if no stranger who was told the code has it; else the lowest free one. A seat that is there
    already is answered with its place and token again, whatever the request id; one that was left there since may be
    taken again by a new call, with a new token. The match starts when the last seat is taken. Raises TOKEN_REQUIRED,
    TOKEN_INVALID (also for a retry, once the place was left), GAME_NOT_OVER, and GAME_NOT_OPEN where it has begun
    without him.
    """
    old = await load(desk, game)
    number = seat_of(old, token)
    if old.phase not in _OVER:
        text = f"there is no rematch before the match is over: it is {old.phase}"
        raise GameError(GameReason.GAME_NOT_OVER, text, {"state": old.phase})
    new = _next_id(old)
    await put_up(desk, new, _wanted(old), seats=[_kept(seat) for seat in old.seats])

    def decide(table: Table) -> Decision:
        if _place(table, number):
            raise NothingToDo
        must_be_open(table)
        free = free_seats(table)
        taken = number if number in free else free[0]
        since = table.version + 1
        token_hash = hash_of(_token(table, number, since))
        name = old.seats[number].display_name
        player = Seat(taken=True, display_name=name, token_hash=token_hash, entropy=entropy, since=since)
        return Decision(taken, seated(desk, table, taken, player))

    try:
        table = (await change(desk, new, request_of(f"rematch {number}", request_id, entropy), decide)).table
    except NothingToDo:
        table = await load(desk, new)
    place = _place(table, number)
    if place is None:
        text = "the seat that this call took at the next table was left since; call again with a new request id"
        raise GameError(GameReason.TOKEN_INVALID, text)
    return Joined(*place, table)


async def rematch_of(desk: Desk, table: Table, viewer: int | None) -> str:
    """The game that follows this one, for its seats to know; empty for others, and where nobody has asked for one."""
    if viewer is None or table.phase not in _OVER:
        return ""
    new = _next_id(table)
    return new if await desk.store.exists(new) else ""


def _next_id(old: Table) -> str:
    return b32encode(hmac.digest(old.secret, b"rematch", "sha256")).decode().lower()[:ID_LENGTH]


def _place(table: Table, number: int) -> tuple[int, str] | None:
    """The seat that the player of this former seat has at the next table, and its token; None: he is not there."""
    for taken, seat in enumerate(table.seats):
        token = _token(table, number, seat.since)
        if seat.token_hash == hash_of(token):
            return taken, token
    return None


def _token(table: Table, number: int, since: int) -> str:
    """The token of the place of this former seat, taken with that version: who leaves and comes again gets another.

    What it is derived from, beside the table's secret, is no UUID, so that no join can ask for it.
    """
    return new_token(table.secret, f"rematch:{number}:{since}")


def _wanted(old: Table) -> Wanted:
    return Wanted(
        preset=old.preset,
        rules=old.rules,
        seat_count=len(old.seats),
        display_name=old.display_name,
        limit=old.limit,
        private=True,
        spectators=old.spectators,
    )


def _kept(seat: Seat) -> Seat:
    """The seat at the follow-up table: a bot keeps it, a player has to come."""
    return Seat(taken=True, display_name=seat.display_name, bot=True) if seat.bot else Seat()
