"""Values of every event and part of a view, one field after the other made different: so that none is forgotten."""

import random
from collections.abc import Iterator
from functools import cache

import msgspec
from msgspec.structs import fields, replace

from engine.actions import MeldKind
from engine.events import (
    DealEnd,
    DealEnded,
    DealStarted,
    Discarded,
    Drew,
    Event,
    HandVoided,
    JokerSwapped,
    Knocked,
    LaidDown,
    LaidOff,
    MatchEnded,
    Passed,
    Renewal,
    SeatOut,
    StockRenewed,
    TookPile,
    TurnStarted,
)
from engine.presets import PRESETS
from engine.state import Phase, State
from engine.step import step
from service.store.table import (
    MatchAbandoned,
    MatchStarted,
    SeatAway,
    SeatJoined,
    SeatLeft,
    SeatReturned,
    TableEvent,
    TurnExtended,
    TurnTimedOut,
)
from tests.strategies import begin, eager

DREW = Drew(1, 2, b"\x03\x04")
ENDED = DealEnded(1, DealEnd.OUT, (1,), False, (3, 4), (5, 6), 7, (b"\x01", b""), b"\x03" * 32)
EVENTS: tuple[Event | TableEvent, ...] = (
    SeatJoined(1, "Ann", bot=True),
    SeatLeft(1),
    MatchStarted((0, 2)),
    MatchAbandoned(),
    TurnTimedOut(1),
    TurnExtended(1, 1_800_000_000_123),
    SeatAway(1),
    SeatReturned(1),
    DealStarted(1, 2, 7, 30, 5, 10, b"\x01" * 32, b"\x02" * 32, (b"\x01\x02", None)),
    TurnStarted(1, 2),
    DREW,
    StockRenewed(Renewal.TURN_OVER, 4, 20),
    TookPile(1, b"\x05\x06"),
    Knocked(1),
    LaidDown(1, 2, MeldKind.SET, b"\x00\x0d\x1a", 1),
    LaidOff(1, 2, b"\x03", b"\x07"),
    JokerSwapped(1, 2, 3, 1),
    Discarded(1, 3),
    Passed(1),
    HandVoided(1),
    SeatOut(1),
    ENDED,
    MatchEnded((1,), (5, 6), (-1, 1)),
)
"""One of each event, seats' and the engine's."""


def changed(value: msgspec.Struct) -> Iterator[tuple[str, msgspec.Struct]]:
    """The value with each of its fields made different, with the field's name."""
    for field in fields(type(value)):
        yield field.name, replace(value, **{field.name: _another(getattr(value, field.name))})


def _another(value: object) -> object:
    match value:
        case MeldKind() | DealEnd() | Renewal():
            return next(other for other in type(value) if other is not value)
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case bytes():
            return bytes([*value[:-1], (value[-1] + 1) % 52]) if value else b"\x09"
        case tuple():
            return (_another(value[0]), *value[1:])
        case _:
            raise AssertionError(f"nothing else than {value!r}")


@cache
def states() -> tuple[State, ...]:
    """States on the way through matches of every game, with jokers, the last of each match included."""
    found: list[State] = []
    for number, preset in enumerate(PRESETS):
        rules = replace(PRESETS[preset], jokers=4, deals=1)
        chance = random.Random(number)  # noqa: S311  the same in every run
        state = begin(rules, 3, chance)
        while state.phase in (Phase.DRAW, Phase.PLAY) and len(found) < 150 * (number + 1):
            found.append(state)
            state = step(state, state.turn, eager(state, chance)).state
        found.append(state)
    return tuple(found)
