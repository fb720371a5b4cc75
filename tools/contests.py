"""How well a bot plays: single deals of one bot against seats that all play alike, and whether it wins its due.

A bot's due: against chance it scores more than each of the others in four of five deals, and of two players wins as
many; against the plain greed of the demo's policy it wins more than its share.
"""

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from engine.actions import Action
from engine.legal import legal_actions
from engine.presets import PRESETS
from engine.shuffle import SEED_SIZE
from engine.state import State
from engine.step import start, step
from engine.view import view
from service import bots
from tools.players import Player, anything, greedy

__all__ = ["CONTESTS", "DUE", "RIVALS", "Contest", "Outcome", "played", "shortfalls"]

RIVALS: Final[Mapping[str, Player]] = {"chance": anything, "greed": greedy}
DUE: Final = 0.8
"""The part of the deals in which a bot outdoes a seat that plays by chance."""


class Contest(NamedTuple):
    """Deals of one game, in which a bot's seat moves round and all others are rivals of one kind."""

    preset: str
    seats: int
    rival: str

    def __str__(self) -> str:
        """As it is called in reports."""
        return f"{self.preset}, {self.seats} seats, a bot against {self.rival}"


@dataclass
class Outcome:
    """What came of some deals of a contest."""

    deals: int = 0
    scored: int = 0
    """Deals in which anybody scored; the next two count these alone."""
    won: float = 0.0
    """Deals in which nobody scored more than the bot; those tied for are shared."""
    outdone: float = 0.0
    """Rivals that scored less than the bot, a tie as half, by the number of rivals: at most `scored`."""
    actions: int = 0
    """The bot's."""
    seconds: float = 0.0
    """CPU time of the bot's choices."""
    slowest: float = 0.0
    """CPU time of one choice, in seconds."""

    def add(self, other: "Outcome") -> None:
        """Count the other's deals in."""
        for name in ("deals", "scored", "won", "outdone", "actions", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)


CONTESTS: Final = [
    Contest(preset, seats, rival)
    for rival in RIVALS
    for preset, rules in PRESETS.items()
    for seats in range(rules.seats[0], rules.seats[1] + 1)
]


def played(contest: Contest, numbers: range) -> Outcome:
    """The deals of these numbers; the same each time but for the CPU times."""
    outcome = Outcome()
    for number in numbers:
        _play(contest, number, outcome)
    return outcome


def shortfalls(outcomes: Mapping[Contest, Outcome]) -> Iterator[str]:
    """What a bot did not win though it is its due, a line each."""
    for contest, outcome in outcomes.items():
        if outcome.deals and not outcome.scored:
            yield f"{contest}: nobody scored in {outcome.deals} deals"
        elif outcome.deals:
            won, outdone = outcome.won / outcome.scored, outcome.outdone / outcome.scored
            if contest.rival == "chance" and outdone < DUE:
                yield f"{contest}: it outdoes a seat in {outdone:.1%} of the deals only"
            if contest.rival == "greed" and won <= 1 / contest.seats:
                yield f"{contest}: it wins {won:.1%} of the deals, no more than its share"


def _play(contest: Contest, number: int, outcome: Outcome) -> None:
    chance = random.Random(f"{contest}, deal {number}")  # noqa: S311  a deal to be had again
    rules, bot = replace(PRESETS[contest.preset], deals=1), number % contest.seats
    state = start(rules, contest.seats, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
    while state.result is None:
        action = _bots(state, outcome) if state.turn == bot else RIVALS[contest.rival](state, chance)
        state = step(state, state.turn, action).state
    scores = state.result.scores
    outcome.deals += 1
    if any(scores):
        best, own = max(scores), scores[bot]
        outcome.scored += 1
        outcome.won += (own == best) / scores.count(best)
        outdone = sum((own > score) + (own == score) / 2 for score in scores) - 0.5
        outcome.outdone += outdone / (contest.seats - 1)


def _bots(state: State, outcome: Outcome) -> Action:
    seen, legal = view(state, state.turn), partial(legal_actions, state, state.turn)
    begun = time.thread_time()
    action = bots.choose(seen, legal)
    took = time.thread_time() - begun
    outcome.actions += 1
    outcome.seconds += took
    outcome.slowest = max(outcome.slowest, took)
    return action
