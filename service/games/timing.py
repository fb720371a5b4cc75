"""The time of a turn: how long a player has, what he takes from his bank, and when a bot moves.

A player has the limit for each turn, and after it what is left in the seat's bank; the deadline is the end of both.
Time in which the service could not answer is left out. Nothing runs while no player is there to play.
"""

from typing import Final

from msgspec.structs import replace

from engine.state import Phase as MatchPhase
from engine.state import State
from service.games.desk import Desk
from service.store.table import Phase, Table, TurnClock

__all__ = ["extended", "same_turn", "timed"]


def timed(desk: Desk, before: Table, after: Table, now_ms: int) -> Table:
    """The table `after` a change of `before`, which is made now: banks charged for a turn that ended, the clock set."""
    after = _charged(desk, before, after, now_ms)
    return replace(after, clock=_clock(desk, before, after, now_ms))


def extended(desk: Desk, table: Table, clock: TurnClock, now_ms: int) -> TurnClock:
    """The clock of the turn, its deadline moved on by what was not excused before."""
    excused = max(clock.excused_ms, desk.outages.within(table.game, clock.started_ms, now_ms))
    return replace(clock, due_ms=clock.due_ms + excused - clock.excused_ms, excused_ms=excused)


def same_turn(one: State, other: State) -> bool:
    """Whether the turn of the one state is still being played in the other."""
    return _turn(one) == _turn(other) and other.phase in {MatchPhase.DRAW, MatchPhase.PLAY}


def _turn(match: State) -> tuple[int, int, int]:
    return match.deal, match.round, match.turn


def _charged(desk: Desk, before: Table, after: Table, now_ms: int) -> Table:
    """What a turn that has ended took above the limit comes out of the seat's bank."""
    clock, limit, match = before.clock, before.limit, before.match
    if clock is None or clock.thinking or limit is None or match is None or after.match is None:
        return after
    if same_turn(match, after.match):
        return after
    excused = extended(desk, before, clock, now_ms).excused_ms
    over = now_ms - clock.started_ms - excused - limit.turn_ms
    seats = list(after.seats)
    seat = seats[match.turn]
    seats[match.turn] = replace(seat, bank_ms=min(seat.bank_ms, max(0, seat.bank_ms - over)))
    return replace(after, seats=tuple(seats))


def _clock(desk: Desk, before: Table, after: Table, now_ms: int) -> TurnClock | None:
    match, running = after.match, after.clock
    if after.phase is not Phase.PLAYING or match is None or not any(seat.present for seat in after.seats):
        return None
    seat = after.seats[match.turn]
    goes_on = before.match is not None and same_turn(before.match, match) and running is not None
    if not seat.present:
        if goes_on and running is not None and running.thinking and before.match == match:
            return running
        return TurnClock(started_ms=now_ms, due_ms=now_ms + _think_ms(desk), thinking=True)
    if after.limit is None:
        return None
    if goes_on and running is not None and not running.thinking:
        return running
    return TurnClock(started_ms=now_ms, due_ms=now_ms + after.limit.turn_ms + seat.bank_ms)


_SHARES: Final = 256


def _think_ms(desk: Desk) -> int:
    """From half the usual time to one and a half, by chance alone: how long a bot thinks tells nothing of its hand."""
    return desk.think_ms * (_SHARES + 2 * desk.chance(1)[0]) // (2 * _SHARES)
