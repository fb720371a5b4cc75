"""A match between the moves of its players: how it begins, and what follows from a move without anybody's doing.

When a deal is over the next one is dealt, and a seat whose player has left is played for, all in the commit of the move
that led there.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from engine.events import DealEnded, Event
from engine.shuffle import SEED_SIZE
from engine.state import Phase as MatchPhase
from engine.state import State
from engine.step import next_deal, start, step
from service.games import standin
from service.games.desk import Desk
from service.store.table import MatchAbandoned, MatchStarted, Phase, Table, TableEvent

__all__ = ["begin", "go_on"]


def begin(desk: Desk, table: Table) -> tuple[Table, list[TableEvent | Event]]:
    """Begins the match with the seats that are taken; free seats are taken away."""
    if table.seeds is None:
        raise AssertionError("a match begins once")
    former = tuple(number for number, seat in enumerate(table.seats) if seat.taken)
    first, second = table.seeds
    begun = start(table.rules, len(former), first, second)
    table = replace(table, seats=tuple(table.seats[number] for number in former), seeds=None)
    return go_on(desk, table, begun.state, [MatchStarted(former), *begun.events])


def go_on(
    desk: Desk, table: Table, match: State, events: Iterable[TableEvent | Event]
) -> tuple[Table, list[TableEvent | Event]]:
    """The table after a move that led to `match` by `events`, with all that follows from it."""
    happened: list[TableEvent | Event] = list(events)
    if all(seat.left for seat in table.seats) and match.phase is not MatchPhase.MATCH_OVER:
        return replace(table, phase=Phase.ABANDONED, match=match), [*happened, MatchAbandoned()]
    while match.phase is not MatchPhase.MATCH_OVER:
        if match.phase is MatchPhase.DEAL_OVER:
            after = next_deal(match, desk.chance(SEED_SIZE))
        elif table.seats[match.turn].left:
            after = step(match, match.turn, standin.choose(match))
        else:
            break
        match = after.state
        happened += after.events
    ended = [event for event in happened if isinstance(event, DealEnded)]
    return replace(
        table,
        match=match,
        phase=Phase.FINISHED if match.phase is MatchPhase.MATCH_OVER else Phase.PLAYING,
        last_deal=ended[-1] if ended else table.last_deal,
    ), happened
