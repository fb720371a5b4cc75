"""What is stored of a game: its table, and the batches of its history.

A table is secret as a whole: it holds seeds, hands, and what seat tokens are derived from and checked against. What a
seat may see of it is made elsewhere, by `engine.view`.
"""

from enum import StrEnum
from typing import Final

import msgspec

from engine.events import DealEnded, Event
from engine.rules import RuleSet
from engine.state import State

__all__ = [
    "SCHEMA",
    "Batch",
    "MatchAbandoned",
    "MatchStarted",
    "Phase",
    "Seat",
    "SeatJoined",
    "SeatLeft",
    "Table",
    "TableEvent",
]

SCHEMA: Final = 1
"""The form of the records below. Fields are added at the end only, with a default, and the number goes up each time."""


class Phase(StrEnum):
    """A table waits for players, is played at, or is over: played to the end, or given up."""

    OPEN = "open"
    PLAYING = "playing"
    FINISHED = "finished"
    ABANDONED = "abandoned"


class Seat(msgspec.Struct, frozen=True, array_like=True):
    """A place at the table. `token_hash` is what the bearer token of its player is checked against; empty: none."""

    taken: bool = False
    display_name: str = ""
    token_hash: bytes = b""
    left: bool = False
    """Whether its player has left a match that had begun."""
    entropy: str = ""
    """What its player adds to the shuffle."""


class Table(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A game at one version, whole."""

    schema: int = SCHEMA
    game: str
    """The game's id."""
    epoch: str
    """Drawn when the game was created: a game of the same id with another epoch has another history."""
    version: int
    """1 when created; each commit adds 1."""
    phase: Phase
    display_name: str
    created_ms: int
    """Milliseconds since 1970, as is `updated_ms`."""
    updated_ms: int
    preset: str
    """The name of the preset that the rules were made from; empty: none."""
    rules: RuleSet
    seats: tuple[Seat, ...]
    secret: bytes
    """32 bytes that seat tokens are derived from."""
    seeds: tuple[bytes, bytes] | None = None
    """The seeds of the first two deals, 32 bytes each; None once the match has begun (`match` holds them then)."""
    match: State | None = None
    """None while the table is open."""
    last_deal: DealEnded | None = None
    """How the deal before this one ended."""


class SeatJoined(msgspec.Struct, frozen=True, array_like=True, tag="seat_joined"):
    """A player took a seat."""

    seat: int
    display_name: str


class SeatLeft(msgspec.Struct, frozen=True, array_like=True, tag="seat_left"):
    """A player left a seat."""

    seat: int


class MatchStarted(msgspec.Struct, frozen=True, array_like=True, tag="match_started"):
    """The match began. `former_seats` has, by seat, the number that it had before: free seats were taken away."""

    former_seats: tuple[int, ...]


class MatchAbandoned(msgspec.Struct, frozen=True, array_like=True, tag="match_abandoned"):
    """The match was given up before its end: no player is left."""


TableEvent = SeatJoined | SeatLeft | MatchStarted | MatchAbandoned


class Batch(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What one commit did: the one step from the version before to `version`. Not redacted for anybody."""

    schema: int = SCHEMA
    version: int
    time_ms: int
    actor: int | None
    """The seat that acted; None: nobody at the table did."""
    events: tuple[TableEvent | Event, ...] = ()
