"""What happens when the time of a turn is up: a bot moves, or a player who was too slow is played for."""

from msgspec.structs import replace

from service.games.change import Changed, Decision, NothingToDo, change
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.play import Course, go_on
from service.games.players import bots_moves, standins_moves
from service.games.timing import extended
from service.observability import metrics
from service.store.table import SeatAway, Table, TableEvent, TurnClock, TurnExtended, TurnTimedOut

__all__ = ["tick"]


async def tick(desk: Desk, game: str) -> None:
    """Does what is due in the game, if anything is: each time once, however often and wherever it is called.

    Raises CONTENTION, and the store's errors.
    """
    done: TurnClock | None = None

    def decide(table: Table) -> Decision:
        nonlocal done
        clock, match, now = table.clock, table.match, desk.now_ms()
        if clock is None or match is None or clock.due_ms > now:
            raise NothingToDo
        done = clock
        if clock.thinking:
            played = bots_moves(match)
            return Decision(match.turn, go_on(desk, table, played.state, played.events, played.record))
        clock = extended(desk, table, clock, now)
        if clock.due_ms > now:
            told = TurnExtended(match.turn, clock.due_ms)
            return Decision(None, Course(replace(table, clock=clock), (told,)))
        return Decision(None, _timed_out(desk, table))

    try:
        changed = await change(desk, game, None, decide)
    except NothingToDo:
        return
    except GameError as error:
        if error.reason is not GameReason.GAME_NOT_FOUND:
            raise
        await desk.store.drop_due(game)
        return
    _count(changed, done)


def _count(changed: Changed, done: TurnClock | None) -> None:
    """Counts what was done when this clock had run down."""
    if done is None or changed.batch is None:
        return
    metrics.due_lag_seconds.observe(max(0, changed.batch.time_ms - done.due_ms) / 1000)
    if done.thinking:
        metrics.bot_moves.inc()
    elif any(isinstance(event, TurnTimedOut) for event in changed.batch.events):
        metrics.timeouts.inc()


def _timed_out(desk: Desk, table: Table) -> Course:
    """The turn is finished for the player, who may be away after it."""
    if table.match is None or table.limit is None:
        raise AssertionError("a player runs out of time in a match with a limit")
    number = table.match.turn
    events: list[TableEvent] = [TurnTimedOut(number)]
    seats = list(table.seats)
    misses = seats[number].misses + 1
    away = misses >= table.limit.misses
    seats[number] = replace(seats[number], misses=misses, away=away)
    if away:
        events.append(SeatAway(number))
    played = standins_moves(table.match)
    return go_on(desk, replace(table, seats=tuple(seats)), played.state, [*events, *played.events], played.record)
