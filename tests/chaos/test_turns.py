"""The history checker knows who may play for whom, and from when on."""

import re

import pytest

from engine.events import Discarded, Drew, Event, TurnStarted
from service.store.table import (
    Batch,
    MatchStarted,
    SeatAway,
    SeatJoined,
    SeatLeft,
    SeatReturned,
    TableEvent,
    TurnExtended,
    TurnLimit,
    TurnTimedOut,
)
from tests.chaos.turns import SLACK_MS, unfounded

LIMIT = TurnLimit(turn_ms=1_000, bank_ms=500, misses=2)
DRAW, DISCARD = Drew(0, 1, None), Discarded(0, 5)
BEGUN: tuple[Event | TableEvent, ...] = (SeatJoined(1, "Ann"), MatchStarted((0, 1)), TurnStarted(0, 1))
TIMED_OUT = (TurnTimedOut(0), DRAW, DISCARD, TurnStarted(1, 1))

Step = tuple[int, int | None, int | None, tuple[Event | TableEvent, ...]]
"""When, in ms, which seat acted, at the request of which, and what happened."""


def judged(
    *steps: Step, limit: TurnLimit | None = LIMIT, bots: frozenset[int] = frozenset(), silence: tuple[int, int] = (0, 0)
) -> str:
    """What is found to be wrong with these versions."""
    batches = [
        Batch(version=version, time_ms=time_ms, actor=actor, events=events)
        for version, (time_ms, actor, _, events) in enumerate(steps, start=1)
    ]
    made = {version: maker for version, (_, _, maker, _) in enumerate(steps, start=1) if maker is not None}
    return "\n".join(unfounded(limit, bots, batches, made, [silence]))


FAIR: dict[str, list[Step]] = {
    "a player plays": [(0, 1, None, BEGUN), (10, 0, 0, (DRAW,)), (20, 0, 0, (DISCARD, TurnStarted(1, 1)))],
    "one who left is played for": [(0, 1, None, BEGUN), (10, 0, 0, (SeatLeft(0), DRAW, DISCARD))],
    "a turn runs out": [(0, 1, None, BEGUN), (1_500, None, None, TIMED_OUT)],
    "a turn is made longer": [
        (0, 1, None, BEGUN),
        (4_000, None, None, (TurnExtended(0, 4_500),)),
        (4_500, None, None, TIMED_OUT),
    ],
    "a bank is used up": [
        (0, 1, None, BEGUN),
        (1_400, 0, 0, (DRAW, DISCARD, TurnStarted(0, 2))),
        (2_500, None, None, TIMED_OUT),
    ],
    "a player who is away is played for, and comes back": [
        (0, 1, None, BEGUN),
        (1_500, None, None, (TurnTimedOut(0), DRAW, DISCARD, TurnStarted(0, 2))),
        (3_000, None, None, (TurnTimedOut(0), SeatAway(0), DRAW, DISCARD, TurnStarted(0, 3))),
        (3_100, 0, None, (DRAW,)),
        (3_200, 0, 0, (SeatReturned(0), DISCARD)),
    ],
}


@pytest.mark.parametrize("steps", FAIR.values(), ids=FAIR)
def test_what_follows_is_no_fault(steps: list[Step]) -> None:
    """What players do, what bots and the clock do for seats without one, and a time that is up, are right."""
    assert judged(*steps) == ""


UNFAIR: dict[str, tuple[str, list[Step]]] = {
    "a bot plays for a player": ("act of seat 0 that no client", [(0, 1, None, BEGUN), (10, 0, None, (DRAW,))]),
    "another's request": ("seat 1 asked for it, and seat 0", [(0, 1, None, BEGUN), (10, 0, 1, (DRAW,))]),
    "along with another's act": (
        "played for seat 1, whose player is there",
        [(0, 1, None, BEGUN), (10, 0, 0, (DISCARD, TurnStarted(1, 1), Drew(1, 1, None)))],
    ),
    "nobody's doing": ("no time was up", [(0, 1, None, BEGUN), (10, None, None, (DRAW,))]),
    "before the bank is empty": ("100 ms too early", [(0, 1, None, BEGUN), (1_400, None, None, TIMED_OUT)]),
    "before what was told": (
        "500 ms too early",
        [(0, 1, None, BEGUN), (3_000, None, None, (TurnExtended(0, 4_500),)), (4_000, None, None, TIMED_OUT)],
    ),
    "another's turn": ("seat 1 has no time", [(0, 1, None, BEGUN), (9_000, None, None, (TurnTimedOut(1),))]),
    "longer by nothing": ("no longer", [(0, 1, None, BEGUN), (1_500, None, None, (TurnExtended(0, 1_500),))]),
    "away too soon": (
        "away after 1 missed",
        [(0, 1, None, BEGUN), (1_500, None, None, (TurnTimedOut(0), SeatAway(0), DRAW))],
    ),
    "one who is back": (
        "act of seat 0 that no client",
        [
            (0, 1, None, BEGUN),
            (1_500, None, None, (TurnTimedOut(0), TurnStarted(0, 2))),
            (3_000, None, None, (TurnTimedOut(0), SeatAway(0), TurnStarted(0, 3))),
            (3_100, 0, 0, (SeatReturned(0),)),
            (3_200, 0, None, (DRAW,)),
        ],
    ),
}


@pytest.mark.parametrize(("found", "steps"), UNFAIR.values(), ids=UNFAIR)
def test_what_nobody_had_a_right_to_do_is_found(found: str, steps: list[Step]) -> None:
    """To play for a player who is there and in time is a fault, whoever does it."""
    assert re.search(found, judged(*steps))


def test_a_bot_plays_its_seat_and_has_no_limit() -> None:
    """A bot moves at nobody's request, and its time is never up."""
    assert judged((0, 1, None, BEGUN), (10, 0, None, (DRAW,)), bots=frozenset({0})) == ""
    assert "seat 0 has no time" in judged((0, 1, None, BEGUN), (9_000, None, None, TIMED_OUT), bots=frozenset({0}))


def test_a_turn_without_limit_does_not_run_out() -> None:
    """Where no limit was chosen, no time is ever up."""
    assert "no time to run out of" in judged((0, 1, None, BEGUN), (9_000, None, None, TIMED_OUT), limit=None)


def test_a_silence_counts_for_no_turn() -> None:
    """A turn lasts longer by the time in which nobody could be served, but for what servers may be mistaken by."""
    silence = (500, 4_500)
    fair = 1_500 + 4_000 - SLACK_MS
    assert judged((0, 1, None, BEGUN), (fair, None, None, TIMED_OUT), silence=silence) == ""
    assert "1 ms too early" in judged((0, 1, None, BEGUN), (fair - 1, None, None, TIMED_OUT), silence=silence)


def test_a_short_silence_is_none() -> None:
    """What is too short to be an outage is part of the turn."""
    assert judged((0, 1, None, BEGUN), (1_500, None, None, TIMED_OUT), silence=(100, 1_400)) == ""
