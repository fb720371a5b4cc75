"""Taking a seat, giving it up, and starting the match."""

from dataclasses import dataclass

from msgspec.structs import replace

from engine.events import Event
from service.games.change import Decision, change, request_of
from service.games.desk import Desk
from service.games.errors import GameError
from service.games.play import begin, go_on
from service.games.seen import SeenTable, see
from service.games.tokens import hash_of, new_token, seat_of
from service.store.table import Phase, Seat, SeatJoined, SeatLeft, Table, TableEvent

__all__ = ["Joined", "join", "leave", "start"]


@dataclass(frozen=True, slots=True)
class Joined:
    """A seat that was taken, its token, and the newest table."""

    seat: int
    token: str
    table: Table


async def join(desk: Desk, game: str, *, display_name: str, seat: int | None, request_id: str) -> Joined:
    """Takes the seat, or the lowest free one; the match starts when it was the last.

    Raises GAME_NOT_OPEN, GAME_FULL and SEAT_TAKEN. A retry gives the same seat and token; TOKEN_INVALID if the seat was
    left since.
    """
    request_id = request_id.lower() or desk.chance(16).hex()

    def decide(table: Table) -> Decision:
        _must_be_open(table)
        taken = _free_seat(table, seat)
        seats = list(table.seats)
        seats[taken] = Seat(
            taken=True, display_name=display_name, token_hash=hash_of(new_token(table.secret, request_id))
        )
        after = replace(table, seats=tuple(seats))
        events: list[TableEvent | Event] = [SeatJoined(taken, display_name)]
        if all(other.taken for other in seats):
            after, begun = begin(desk, after)
            events += begun
        return Decision(after, taken, tuple(events))

    changed = await change(desk, game, request_of("join", request_id, display_name, seat), decide)
    token = new_token(changed.table.secret, request_id)
    return Joined(seat_of(changed.table, token), token, changed.table)


async def leave(desk: Desk, game: str, token: str | None, *, request_id: str) -> Table:
    """Gives up the token's seat, and revokes the token.

    In an open table the seat is free again. In a match it is played for from now on, and the match is abandoned with
    its last player. Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_OVER.
    """

    def decide(table: Table) -> Decision:
        number = seat_of(table, token)
        seats = list(table.seats)
        events: list[TableEvent | Event] = [SeatLeft(number)]
        if table.phase is Phase.OPEN:
            seats[number] = Seat()
            return Decision(replace(table, seats=tuple(seats)), number, tuple(events))
        if table.phase is not Phase.PLAYING or table.match is None:
            raise _over(table)
        seats[number] = replace(seats[number], token_hash=b"", left=True)
        after, followed = go_on(desk, replace(table, seats=tuple(seats)), table.match, ())
        return Decision(after, number, (*events, *followed))

    # The request is known by the token, not by the seat: its retry comes when the token is no longer valid.
    caller = hash_of(token).hex()[:16] if token else ""
    changed = await change(desk, game, request_of(caller, request_id, "leave"), decide)
    return changed.table


async def start(desk: Desk, game: str, token: str | None, *, request_id: str) -> SeenTable:
    """Starts the match with the players who are there; gives the table as the caller sees it.

    Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_NOT_OPEN, TOO_FEW_PLAYERS.
    """

    def decide(table: Table) -> Decision:
        number = seat_of(table, token)
        _must_be_open(table)
        players = sum(seat.taken for seat in table.seats)
        if players < table.rules.seats[0]:
            raise GameError(
                "TOO_FEW_PLAYERS",
                f"{players} at the table, and the rule set needs {table.rules.seats[0]}",
                {"players": str(players), "least": str(table.rules.seats[0])},
            )
        after, events = begin(desk, table)
        return Decision(after, number, tuple(events))

    caller = hash_of(token).hex()[:16] if token else ""
    changed = await change(desk, game, request_of(caller, request_id, "start"), decide)
    return see(desk, changed.table, seat_of(changed.table, token))


def _must_be_open(table: Table) -> None:
    if table.phase is not Phase.OPEN:
        raise GameError(
            "GAME_NOT_OPEN", f"the table does not wait for players: it is {table.phase}", {"state": table.phase}
        )


def _free_seat(table: Table, wanted: int | None) -> int:
    """The seat wanted, or the lowest free one."""
    free = [number for number, seat in enumerate(table.seats) if not seat.taken]
    if not free:
        raise GameError("GAME_FULL", "no seat is free")
    if wanted is None:
        return free[0]
    if wanted not in free:
        text = (
            f"seat {wanted} is taken"
            if wanted < len(table.seats)
            else f"there are {len(table.seats)} seats, counted from 0"
        )
        raise GameError("SEAT_TAKEN", text, {"seat": str(wanted), "free_seats": " ".join(map(str, free))})
    return wanted


def _over(table: Table) -> GameError:
    return GameError("GAME_OVER", f"the table is closed: the match is {table.phase}", {"state": table.phase})
