"""Whose turn it was: what was played at nobody's request is the clock's doing, or that of a seat without its player.

unfounded(limit, bots, batches, made, silences)     a sentence for each thing that nobody had a right to do

The engine's replay says whether the moves are legal; here it is who made them, and when. Times are ms since 1970.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.events import Discarded, Drew, JokerSwapped, Knocked, LaidDown, LaidOff, Passed, TookPile, TurnStarted
from service.store.due import SILENCE_MS
from service.store.table import (
    Batch,
    MatchStarted,
    SeatAway,
    SeatLeft,
    SeatReturned,
    TurnExtended,
    TurnLimit,
    TurnTimedOut,
)

PLAYED: Final = (Drew, TookPile, Knocked, LaidDown, LaidOff, JokerSwapped, Discarded, Passed)
SLACK_MS: Final = 500
"""A server may take the end of a silence, or its beginning, for so much later than those who made it: it was busy."""

Silences = Sequence[tuple[int, int]]


def unfounded(
    limit: TurnLimit | None, bots: frozenset[int], batches: Sequence[Batch], made: Mapping[int, int], silences: Silences
) -> Iterator[str]:
    """What nobody had a right to do. `made` has, by version, the seat whose player has asked for it.

    `bots` are the seats that bots were put on. `silences` are times in which nobody could be served: where they are
    longer than an outage they count for no turn.
    """
    turns = _Turns(limit, bots, [span for span in silences if span[1] - span[0] > SILENCE_MS + SLACK_MS])
    for batch in batches:
        for wrong in turns.after(batch, made.get(batch.version)):
            yield f"version {batch.version}: {wrong}"


@dataclass
class _Turns:
    """Who plays for which seat, and how long the turn has to last."""

    limit: TurnLimit | None
    bots: frozenset[int]
    silences: Silences
    begun: bool = False
    left: set[int] = field(default_factory=set)
    away: set[int] = field(default_factory=set)
    turn: int | None = None
    started_ms: int = 0
    timed_out: int | None = None
    """The seat whose turn was up in this version."""
    told_ms: int = 0
    """Until when the player was told that he has time."""
    banks: dict[int, int] = field(default_factory=dict)
    """What is left of each bank at least: what was excused is not known."""
    misses: dict[int, int] = field(default_factory=dict)

    def after(self, batch: Batch, maker: int | None) -> Iterator[str]:
        """What is wrong with the next batch, which the player of the seat `maker` has asked for (None: nobody has)."""
        if self.begun and maker is None:
            yield from self._unasked(batch)
        elif self.begun and batch.actor != maker:
            yield f"seat {maker} asked for it, and seat {batch.actor} did it"
        if maker is not None:
            self.misses[maker] = 0
        self.timed_out = None
        for event in batch.events:
            self._seated(event)
            yield from self._judged(event, batch.time_ms)
            if isinstance(event, PLAYED) and event.seat not in {maker, self.timed_out, *self._absent}:
                yield f"somebody played for seat {event.seat}, whose player is there: {event}"

    def _seated(self, event: object) -> None:
        """Somebody comes or goes."""
        match event:
            case MatchStarted():
                self.begun = True
            case SeatLeft(seat) if self.begun:
                self.left.add(seat)
            case SeatReturned(seat):
                self.away.discard(seat)

    def _judged(self, event: object, now_ms: int) -> Iterator[str]:
        """What the clock has done, and whether it was time."""
        match event:
            case SeatAway(seat):
                yield from self._gone(seat)
            case TurnExtended(seat, deadline_ms):
                yield from self._extended(seat, deadline_ms)
            case TurnTimedOut(seat):
                yield from self._timed_out(seat, now_ms)
            case TurnStarted(seat):
                self._started(seat, now_ms)

    @property
    def _absent(self) -> frozenset[int]:
        """The seats that a bot plays."""
        return self.bots | self.left | self.away

    def _unasked(self, batch: Batch) -> Iterator[str]:
        """A bot's move is the seat's act; all else that nobody asked for is the end of a turn's time."""
        if batch.actor is not None:
            if batch.actor not in self._absent:
                yield f"it is an act of seat {batch.actor} that no client of it sent"
        elif not batch.events or not isinstance(batch.events[0], TurnTimedOut | TurnExtended):
            yield f"nobody made it, and no time was up: {batch.events[:1]}"

    def _gone(self, seat: int) -> Iterator[str]:
        if self.limit is None or seat != self.timed_out or self.misses[seat] < self.limit.misses:
            yield f"seat {seat} is away after {self.misses.get(seat, 0)} missed turns"
        self.away.add(seat)

    def _extended(self, seat: int, deadline_ms: int) -> Iterator[str]:
        if seat != self.turn or deadline_ms <= max(self.told_ms, self._least_ms(seat)):
            yield f"the turn of seat {seat} was made no longer: it is that of seat {self.turn}"
        self.told_ms = deadline_ms

    def _timed_out(self, seat: int, now_ms: int) -> Iterator[str]:
        """The time of a turn is up once limit and bank are, and all time in which nobody could be served."""
        if self.limit is None or seat != self.turn or seat in self._absent:
            yield f"seat {seat} has no time to run out of"
            return
        unserved = sum(
            max(0, min(end, now_ms) - max(start, self.started_ms) - SLACK_MS) for start, end in self.silences
        )
        least_ms = max(self.told_ms, self._least_ms(seat) + unserved)
        if now_ms < least_ms:
            yield f"seat {seat} ran out of time {least_ms - now_ms} ms too early"
        self.timed_out, self.misses[seat] = seat, self.misses.get(seat, 0) + 1

    def _least_ms(self, seat: int) -> int:
        """When the turn is over, where nothing was excused."""
        return self.started_ms + (self.limit.turn_ms + self.banks.get(seat, self.limit.bank_ms) if self.limit else 0)

    def _started(self, seat: int, now_ms: int) -> None:
        """The turn before was charged for what it took above the limit."""
        if self.turn is not None and self.limit is not None:
            bank_ms = self.banks.get(self.turn, self.limit.bank_ms)
            over_ms = now_ms - self.started_ms - self.limit.turn_ms
            self.banks[self.turn] = min(bank_ms, max(0, bank_ms - over_ms))
        self.turn, self.started_ms, self.told_ms = seat, now_ms, 0
