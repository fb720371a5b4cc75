"""Taking a seat, giving it up, and starting the match."""

from dataclasses import dataclass

from msgspec.structs import replace

from engine.state import State
from service.games.change import Decision, NothingToDo, change, load
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.play import Course, begin, go_on
from service.games.retries import request_of, seat_request
from service.games.seen import SeenTable, see
from service.games.tokens import hash_of, new_token, seat_of
from service.store.table import Phase, Seat, SeatJoined, SeatLeft, SeatReturned, Table

__all__ = [
    "Joined",
    "add_bot",
    "come_back",
    "free_seats",
    "join",
    "leave",
    "match_under_way",
    "must_be_open",
    "resume",
    "seated",
    "start",
]


@dataclass(frozen=True, slots=True)
class Joined:
    """A seat that was taken, its token, and the newest table."""

    seat: int
    token: str
    table: Table


async def join(
    desk: Desk, game: str, *, display_name: str, seat: int | None, entropy: str = "", request_id: str
) -> Joined:
    """Takes the seat, or the lowest free one; the match starts when it was the last.

    `entropy`, up to 64 printable ASCII characters, is what the player adds to the shuffle.
    Raises GAME_NOT_OPEN and SEAT_TAKEN. A retry gives the same token, and the seat by its number of now; TOKEN_INVALID
    if the seat was left since.
    """
    salt = request_id.lower() or desk.chance(16).hex()

    def decide(table: Table) -> Decision:
        must_be_open(table)
        taken = _free_seat(table, seat)
        token_hash = hash_of(new_token(table.secret, salt))
        player = Seat(taken=True, display_name=display_name, token_hash=token_hash, entropy=entropy)
        return Decision(taken, seated(desk, table, taken, player))

    changed = await change(desk, game, request_of("join", request_id, display_name, seat, entropy), decide)
    token = new_token(changed.table.secret, salt)
    return Joined(seat_of(changed.table, token), token, changed.table)


async def add_bot(
    desk: Desk, game: str, token: str | None, *, display_name: str, seat: int | None, request_id: str
) -> SeenTable:
    """Puts a bot on the seat, or on the lowest free one; the match starts when it was the last.

    Only a player at the table may. Gives the table as the caller sees it. Raises TOKEN_REQUIRED, TOKEN_INVALID,
    GAME_NOT_OPEN and SEAT_TAKEN.
    """

    def decide(table: Table) -> Decision:
        caller = seat_of(table, token)
        must_be_open(table)
        bot = Seat(taken=True, display_name=display_name or "Bot", bot=True)
        return Decision(caller, seated(desk, table, _free_seat(table, seat), bot))

    changed = await change(desk, game, seat_request(token, request_id, "add_bot", display_name, seat), decide)
    return see(desk, changed.table, seat_of(changed.table, token))


async def resume(desk: Desk, game: str, token: str | None, *, request_id: str) -> SeenTable:
    """Ends that a bot plays the token's seat; nothing changes where none does.

    Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_NOT_STARTED, GAME_OVER.
    """

    def decide(table: Table) -> Decision:
        number = seat_of(table, token)
        match_under_way(table)
        after, returned = come_back(table, number)
        if not returned:
            raise NothingToDo
        return Decision(number, Course(after, returned))

    try:
        table = (await change(desk, game, seat_request(token, request_id, "resume"), decide)).table
    except NothingToDo:
        table = await load(desk, game)
    return see(desk, table, seat_of(table, token))


def come_back(table: Table, number: int) -> tuple[Table, tuple[SeatReturned, ...]]:
    """The table when the player of the seat has shown that he is there, and the event where he was away."""
    seat = table.seats[number]
    seats = list(table.seats)
    seats[number] = replace(seat, away=False, misses=0)
    return replace(table, seats=tuple(seats)), (SeatReturned(number),) if seat.away else ()


async def leave(desk: Desk, game: str, token: str | None, *, request_id: str) -> Table:
    """Gives up the token's seat, and revokes the token.

    In an open table the seat is free again. In a match it is played for from now on, and the match is abandoned with
    its last player. Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_OVER.
    """

    def decide(table: Table) -> Decision:
        number = seat_of(table, token)
        seats = list(table.seats)
        if table.phase is Phase.OPEN:
            seats[number] = Seat()
            return Decision(number, Course(replace(table, seats=tuple(seats)), (SeatLeft(number),)))
        match = match_under_way(table)
        seats[number] = replace(seats[number], token_hash=b"", left=True)
        return Decision(number, go_on(desk, replace(table, seats=tuple(seats)), match, [SeatLeft(number)]))

    changed = await change(desk, game, seat_request(token, request_id, "leave"), decide)
    return changed.table


async def start(desk: Desk, game: str, token: str | None, *, request_id: str) -> SeenTable:
    """Starts the match with the players who are there; gives the table as the caller sees it.

    Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_NOT_OPEN, TOO_FEW_PLAYERS.
    """

    def decide(table: Table) -> Decision:
        number = seat_of(table, token)
        must_be_open(table)
        players = sum(seat.taken for seat in table.seats)
        if players < table.rules.seats[0]:
            raise GameError(
                GameReason.TOO_FEW_PLAYERS,
                f"{players} at the table, and the rule set needs {table.rules.seats[0]}",
                {"players": str(players), "least": str(table.rules.seats[0])},
            )
        return Decision(number, begin(desk, table))

    changed = await change(desk, game, seat_request(token, request_id, "start"), decide)
    return see(desk, changed.table, seat_of(changed.table, token))


def seated(desk: Desk, table: Table, number: int, seat: Seat) -> Course:
    """How the game goes on when somebody sits down there."""
    seats = list(table.seats)
    seats[number] = seat
    after = replace(table, seats=tuple(seats))
    joined = SeatJoined(number, seat.display_name, seat.bot)
    if not all(other.taken for other in seats):
        return Course(after, (joined,))
    begun = begin(desk, after)
    return Course(begun.table, (joined, *begun.events), begun.record)


def must_be_open(table: Table) -> None:
    """Raises GAME_NOT_OPEN where the table does not wait for players."""
    if table.phase is not Phase.OPEN:
        text = f"the table does not wait for players: it is {table.phase}"
        raise GameError(GameReason.GAME_NOT_OPEN, text, {"state": table.phase})


def match_under_way(table: Table) -> State:
    """The match. Raises GAME_NOT_STARTED before it, and GAME_OVER where it was played to its end or given up."""
    if table.match is None:
        raise GameError(GameReason.GAME_NOT_STARTED, "the match has not begun: the table waits for players")
    if table.phase is not Phase.PLAYING:
        text = f"the table is closed: the match is {table.phase}"
        raise GameError(GameReason.GAME_OVER, text, {"state": table.phase})
    return table.match


def free_seats(table: Table) -> list[int]:
    """The seats that nobody has, in order. An open table has one: with its last seat the match begins."""
    return [number for number, seat in enumerate(table.seats) if not seat.taken]


def _free_seat(table: Table, wanted: int | None) -> int:
    """The seat wanted, or the lowest free one."""
    free = free_seats(table)
    if wanted is None:
        return free[0]
    if wanted not in free:
        count = len(table.seats)
        text = f"seat {wanted} is taken" if wanted < count else f"there are {count} seats, counted from 0"
        raise GameError(GameReason.SEAT_TAKEN, text, {"seat": str(wanted), "free_seats": " ".join(map(str, free))})
    return wanted
