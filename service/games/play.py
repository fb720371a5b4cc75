"""A match between the moves of its players: how it begins, and what follows from a move without anybody's doing.

When a deal is over the next one is dealt, and a seat whose player has left is played for, all in the commit of the move
that led there. Where that would be hundreds of turns, as when the only player left fouls in a game of many rounds, or
turns that are hard to choose, the rest is left to the clock (`service.games.tick`). Each commit adds to the game's
record what a replay needs: `seed HEX` for each seed that is drawn, and each accepted action in notation after its seat,
`0 discard 5H`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from engine.events import DealEnded, Event
from engine.replay import write_move
from engine.shuffle import SEED_SIZE
from engine.state import Phase as MatchPhase
from engine.state import State
from engine.step import next_deal, start, step
from service import bots
from service.games.desk import Desk
from service.games.players import bots_action
from service.games.timing import same_turn
from service.store.table import MatchAbandoned, MatchStarted, Phase, Table, TableEvent

__all__ = ["SEED_LINE", "Course", "begin", "go_on"]

SEED_LINE = "seed "
"""What a line of the record that holds a seed begins with."""

_ROUNDS_AT_ONCE: Final = 12
"""More than a deal of any preset has left for a seat that fouls. A server does nothing else meanwhile."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a game has gone on: the table, the events that led there, and the lines that they add to its record."""

    table: Table
    events: tuple[TableEvent | Event, ...]
    record: tuple[str, ...] = ()


def begin(desk: Desk, table: Table) -> Course:
    """Begins the match with the seats that are taken; free seats are taken away."""
    if table.seeds is None:
        raise AssertionError("a match begins once")
    seeds, former = table.seeds, tuple(number for number, seat in enumerate(table.seats) if seat.taken)
    bank = table.limit.bank_ms if table.limit else 0
    seats = tuple(replace(table.seats[number], bank_ms=bank) for number in former)
    table = replace(table, seats=seats, seeds=None)
    begun = start(table.rules, len(former), *seeds, _entropy(table))
    events = [MatchStarted(former), *begun.events]
    return go_on(desk, table, begun.state, events, [_seed_line(seed) for seed in seeds])


def go_on(
    desk: Desk, table: Table, match: State, events: Iterable[TableEvent | Event], record: Iterable[str] = ()
) -> Course:
    """How the game goes on after a move that led to `match` by `events` and is told by `record`."""
    happened, lines = list(events), list(record)
    if all(seat.left or seat.bot for seat in table.seats):
        abandoned = replace(table, phase=Phase.ABANDONED, match=match)
        return Course(abandoned, (*happened, MatchAbandoned()), tuple(lines))
    turns, effort = _ROUNDS_AT_ONCE * len(table.seats), bots.turns_effort()
    while match.phase is not MatchPhase.MATCH_OVER:
        if match.phase is MatchPhase.DEAL_OVER:
            seed = desk.chance(SEED_SIZE)
            after = next_deal(match, seed)
            lines.append(_seed_line(seed))
        elif table.seats[match.turn].left and turns:
            action = bots_action(match, effort)
            after = step(match, match.turn, action)
            lines.append(write_move(match.turn, action))
            if not same_turn(match, after.state):
                turns = 0 if effort.spent else turns - 1
        else:
            break
        match = after.state
        happened += after.events
    ended = [event for event in happened if isinstance(event, DealEnded)]
    table = replace(
        table,
        match=match,
        phase=Phase.FINISHED if match.phase is MatchPhase.MATCH_OVER else Phase.PLAYING,
        last_deal=ended[-1] if ended else table.last_deal,
    )
    return Course(table, tuple(happened), tuple(lines))


def _entropy(table: Table) -> bytes:
    """What the players have added: SHA-256 of the seats' texts, each ended by a line feed; nothing where none did."""
    texts = [seat.entropy for seat in table.seats]
    return hashlib.sha256("".join(f"{text}\n" for text in texts).encode()).digest() if any(texts) else b""


def _seed_line(seed: bytes) -> str:
    return SEED_LINE + seed.hex()
