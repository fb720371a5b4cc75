"""Playing: the actions of a turn, and what they would lead to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.actions import Action
from engine.errors import BadRequest, Reason, Refused
from engine.events import Event
from engine.replay import write_move
from engine.state import State
from engine.step import play
from service.games.change import Decision, change, load
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.play import go_on
from service.games.players import bots_action
from service.games.retries import seat_request
from service.games.seats import come_back, match_under_way
from service.games.seen import SeenTable, see, see_events
from service.games.tokens import seat_of
from service.observability import metrics
from service.observability.account import note
from service.store.table import Phase, Table, TableEvent

__all__ = ["Acted", "LegalActions", "Suggested", "act", "dry_run", "list_legal", "suggest"]


@dataclass(frozen=True, slots=True)
class Acted:
    """What actions led to: the version that they made, its events as the seat sees them, and what the seat sees now."""

    version: int
    events: tuple[TableEvent | Event, ...]
    seen: SeenTable
    repeated: bool = field(default=False, compare=False)
    """Whether it was made by an earlier call with the same request id."""


@dataclass(frozen=True, slots=True)
class LegalActions:
    """A slice of the actions that a seat may take at a version; `more`: others follow."""

    version: int
    actions: tuple[Action, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Suggested:
    """An action for the seat to move, and the version that it was chosen for."""

    version: int
    action: Action


async def act(
    desk: Desk,
    game: str,
    token: str | None,
    actions: Sequence[Action],
    *,
    request_id: str,
    expected_version: int | None,
) -> Acted:
    """Plays the actions, in order, all or none (G4).

    Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_NOT_STARTED, GAME_OVER, VERSION_MISMATCH, and the engine's Refused and
    BadRequest. A retry gives the version and events of the first call (no events where they are no longer kept), and
    the view of now; TOKEN_INVALID if the seat was left since.
    """

    def decide(table: Table) -> Decision:
        seat, match = _ready(table, token, expected_version)
        played = play(match, seat, actions)
        table, returned = come_back(table, seat)
        moves = [write_move(seat, action) for action in actions[: played.accepted]]
        return Decision(seat, go_on(desk, table, played.state, [*returned, *played.events], moves))

    payload = (actions,) if expected_version is None else (actions, expected_version)  # records of before had no other
    try:
        changed = await change(desk, game, seat_request(token, request_id, "act", *payload), decide)
    except (GameError, Refused, BadRequest) as error:
        _count(desk.last_seen.get(game), error.reason)
        raise
    _count(changed.table, "repeated" if changed.repeated else "accepted")
    seat = seat_of(changed.table, token)
    note(version=changed.version)
    events = see_events(changed.batch.events, seat) if changed.batch else ()
    return Acted(changed.version, events, see(desk, changed.table, seat), changed.repeated)


async def dry_run(
    desk: Desk, game: str, token: str | None, actions: Sequence[Action], *, expected_version: int | None
) -> Acted:
    """Judges the actions as `act` would, and changes nothing.

    The events leave out what is hidden still: cards that would be drawn, and how a deal would end. A foul is refused
    (P15).
    """
    table = await load(desk, game)
    seat, match = _ready(table, token, expected_version)
    played = play(match, seat, actions, dry_run=True)
    return Acted(table.version, played.events, see(desk, table, seat))


async def list_legal(
    desk: Desk, game: str, token: str | None, *, start: int, size: int, at_version: int | None
) -> LegalActions:
    """The legal actions of the token's seat from the `start`-th on, at most `size`; none where another seat is to move
    (G7).

    Raises TOKEN_REQUIRED, TOKEN_INVALID, VERSION_MISMATCH where the game is not at `at_version`, and the store's
    BadCursor where no list was given up to `start`.
    """
    table = await load(desk, game)
    seat = seat_of(table, token)
    _must_be_at(table, at_version)
    if table.match is None or table.phase is not Phase.PLAYING:
        return LegalActions(table.version, (), more=False)
    found, more = await desk.listings.page(table.game, table.mark, table.match, seat, start=start, size=size)
    return LegalActions(table.version, tuple(found), more=more)


async def suggest(desk: Desk, game: str, token: str | None) -> Suggested:
    """What a bot would do next in the place of the token's seat: it is told what the seat may know, no more (G3).

    Raises TOKEN_REQUIRED, TOKEN_INVALID, GAME_NOT_STARTED, GAME_OVER, and Refused with NOT_YOUR_TURN.
    """
    table = await load(desk, game)
    seat, match = _ready(table, token, None)
    if seat != match.turn:
        raise Refused(Reason.NOT_YOUR_TURN, f"seat {match.turn} is to move", clause="B2")
    return Suggested(table.version, bots_action(match))


def _ready(table: Table, token: str | None, expected_version: int | None) -> tuple[int, State]:
    """The seat that acts, and the match."""
    seat = seat_of(table, token)
    _must_be_at(table, expected_version)
    return seat, match_under_way(table)


def _must_be_at(table: Table, version: int | None) -> None:
    if version is not None and version != table.version:
        text = f"the game is at version {table.version}, not {version}"
        raise GameError(GameReason.VERSION_MISMATCH, text, {"current_version": str(table.version)})


def _count(table: Table | None, outcome: str) -> None:
    metrics.acts.labels((table.preset or "custom") if table else "unknown", outcome).inc()
