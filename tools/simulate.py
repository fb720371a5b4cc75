"""Whole matches played by simulated players, each to be had again by its series and number, and what came of them."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from engine.notation import write_position
from engine.presets import PRESETS
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import DealResult, Phase, State
from engine.status import status
from engine.step import next_deal, start, step
from tools.players import PLAYERS, NoAction, Player

__all__ = ["ALL", "SHARE", "Series", "Tally", "Trouble", "every_series", "simulated"]

MOST_ACTIONS: Final = 20_000
"""A deal of more actions counts as one that does not end; the longest so far had a tenth of them."""
MOST_DEALS: Final = 1_000
"""A match of more deals counts as one that does not end."""
SAMPLED: Final = 10
"""Of so many states one is searched for broken invariants; besides, each in which a deal is over."""
SHARE: Final = 840
"""What a match's winners share in `Tally.wins`: 2, 3 … 8 of them in equal parts."""


class Trouble(Exception):
    """A table that is stuck, a deal or a match without end, a broken invariant; the text names the match."""


class Series(NamedTuple):
    """Matches of one game with so many players, all of one kind.

    A sensible player plays to the match's natural end, the others one deal. Those who would not play so by chance play
    at all seats in one match, at a single seat against players of chance in the next ones.
    """

    preset: str
    seats: int
    player: str

    def __str__(self) -> str:
        """As it is called in reports."""
        return f"{self.preset}, {self.seats} seats, {self.player}"

    @property
    def rules(self) -> RuleSet:
        """The preset, with the deals capped unless the player is sensible."""
        rules = PRESETS[self.preset]
        return rules if self.player == "sensible" else replace(rules, deals=1)

    def players(self, number: int) -> list[Player]:
        """Who sits where in the match of that number."""
        one, chance = PLAYERS[self.player], PLAYERS["anything"]
        alone = number % (self.seats + 1) - 1
        mixed = self.player not in ("sensible", "anything") and alone >= 0
        return [chance if mixed and seat != alone else one for seat in range(self.seats)]


@dataclass
class Tally:
    """What came of some matches."""

    matches: int = 0
    deals: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """Deals by how they ended; those void, besides, as `void`."""
    rounds: Counter[int] = field(default_factory=Counter)
    """Deals by their number of rounds."""
    actions: Counter[int] = field(default_factory=Counter)
    """Deals by their number of actions."""
    lengths: Counter[int] = field(default_factory=Counter)
    """Matches by their number of deals."""
    wins: Counter[int] = field(default_factory=Counter)
    """By seat, in parts of `SHARE`, the matches won; those in which nobody scored are nobody's."""
    won: Counter[int] = field(default_factory=Counter)
    """By place, 0 the first player of the deal, in parts of `SHARE`, the deals that somebody won."""

    def add(self, other: "Tally") -> None:
        """Count the other's matches in."""
        self.matches += other.matches
        self.deals += other.deals
        for name in ("ends", "rounds", "actions", "lengths", "wins", "won"):
            getattr(self, name).update(getattr(other, name))


def every_series(player: str) -> list[Series]:
    """A series of each preset at each number of players."""
    return [
        Series(preset, seats, player)
        for preset, rules in PRESETS.items()
        for seats in range(rules.seats[0], rules.seats[1] + 1)
    ]


ALL: Final = [series for player in PLAYERS for series in every_series(player)]


def simulated(series: Series, number: int) -> Tally:
    """One match. Raises Trouble; what the engine raises besides names the match in a note."""
    try:
        return _simulated(series, number)
    except Exception as error:
        error.add_note(f"{series}, match {number}")
        raise


def _simulated(series: Series, number: int) -> Tally:
    tally, actions = Tally(matches=1), 0
    for state in _states(series, number):
        actions += 1
        if state.result is not None:
            _check(series, number, state)
            _count(tally, state, state.result, actions - 1)
            actions = 0
        elif actions % SAMPLED == 0:
            _check(series, number, state)
        if actions > MOST_ACTIONS or tally.deals > MOST_DEALS:
            raise _trouble(series, number, state, "no end")
    return tally


def _states(series: Series, number: int) -> Iterator[State]:
    """Each state of the match, from the first deal to the end."""
    chance = random.Random(f"{series}, match {number}")  # noqa: S311  a match to be had again
    players = series.players(number)
    state = start(series.rules, series.seats, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
    yield state
    while state.phase is not Phase.MATCH_OVER:
        if state.phase is Phase.DEAL_OVER:
            state = next_deal(state, chance.randbytes(SEED_SIZE)).state
        else:
            try:
                action = players[state.turn](state, chance)
            except NoAction as error:
                raise _trouble(series, number, state, "the table is stuck") from error
            state = step(state, state.turn, action).state
        yield state


def _check(series: Series, number: int, state: State) -> None:
    broken = status(state)
    if broken:
        raise _trouble(series, number, state, "; ".join(broken))


def _count(tally: Tally, state: State, result: DealResult, actions: int) -> None:
    tally.deals += 1
    tally.ends[result.end.value] += 1
    tally.ends["void"] += result.void
    tally.rounds[state.round] += 1
    tally.actions[actions] += 1
    for seat in result.winners:
        tally.won[(seat - state.dealer - 1) % len(state.hands)] += SHARE // len(result.winners)
    if state.match is not None:
        tally.lengths[state.deal] += 1
        for seat in state.match.winners if any(state.scores) else ():
            tally.wins[seat] += SHARE // len(state.match.winners)


def _trouble(series: Series, number: int, state: State, text: str) -> Trouble:
    return Trouble(f"{series}, match {number}: {text}: {write_position(state)}")
