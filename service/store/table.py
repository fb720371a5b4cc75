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
    "SeatAway",
    "SeatJoined",
    "SeatLeft",
    "SeatReturned",
    "Table",
    "TableEvent",
    "TurnClock",
    "TurnExtended",
    "TurnLimit",
    "TurnTimedOut",
    "differ",
]

SCHEMA: Final = 5
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
    bot: bool = False
    """Whether a bot was put there instead of a player."""
    away: bool = False
    """Whether its player has missed too many turns: a bot plays until the player acts or returns."""
    bank_ms: int = 0
    """What is left of its time bank."""
    misses: int = 0
    """The turns on end in which its player ran out of time."""
    since: int = 0
    """The version with which its player sat down, by a rematch; 0: otherwise."""

    @property
    def present(self) -> bool:
        """Whether a player plays it."""
        return self.taken and not (self.bot or self.left or self.away)


class TurnLimit(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """How long a player may take: for each turn, and from a bank that lasts for the match; ms, at least 1000 and 0."""

    turn_ms: int
    bank_ms: int
    misses: int
    """After so many missed turns on end, at least 1, a bot plays the seat."""


class TurnClock(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What runs while a seat is to move. Times are ms since 1970."""

    started_ms: int
    due_ms: int
    """When the seat is played for."""
    excused_ms: int = 0
    """How much of the time since `started_ms` does not count: the service could not answer."""
    thinking: bool = False
    """Whether it is a bot's time to think, and no player's limit."""


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
    limit: TurnLimit | None = None
    """None: a player may take as long as he likes."""
    clock: TurnClock | None = None
    """Of the turn that is played; None where nothing falls due."""
    mark: bytes = b""
    """Drawn by the store for each commit; see `Batch.mark`."""
    code: str = ""
    """What a private table is found by; empty: it is public."""
    likeness: str = ""
    """What public tables that one may take for each other have in common; empty: nobody is led here."""
    spectators: bool = True
    """Whether those who have no seat may look on."""


class SeatJoined(msgspec.Struct, frozen=True, array_like=True, tag="seat_joined"):
    """A player took a seat."""

    seat: int
    display_name: str
    bot: bool = False
    """Whether it is a bot, put there by a player."""


class SeatLeft(msgspec.Struct, frozen=True, array_like=True, tag="seat_left"):
    """A player left a seat."""

    seat: int


class MatchStarted(msgspec.Struct, frozen=True, array_like=True, tag="match_started"):
    """The match began. `former_seats` has, by seat, the number that it had before: free seats were taken away."""

    former_seats: tuple[int, ...]


class MatchAbandoned(msgspec.Struct, frozen=True, array_like=True, tag="match_abandoned"):
    """The match was given up before its end: no player is left."""


class TurnTimedOut(msgspec.Struct, frozen=True, array_like=True, tag="turn_timed_out"):
    """A player ran out of time: what follows in this turn was played for the seat."""

    seat: int


class TurnExtended(msgspec.Struct, frozen=True, array_like=True, tag="turn_extended"):
    """A player has longer, by the time in which the service could not answer; `deadline_ms`: ms since 1970."""

    seat: int
    deadline_ms: int


class SeatAway(msgspec.Struct, frozen=True, array_like=True, tag="seat_away"):
    """A player has missed too many turns: a bot plays the seat until its player acts or returns."""

    seat: int


class SeatReturned(msgspec.Struct, frozen=True, array_like=True, tag="seat_returned"):
    """A player who was away plays again."""

    seat: int


TableEvent = (
    SeatJoined | SeatLeft | MatchStarted | MatchAbandoned | TurnTimedOut | TurnExtended | SeatAway | SeatReturned
)


class Batch(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What one commit did: the one step from the version before to `version`. Not redacted for anybody."""

    schema: int = SCHEMA
    version: int
    time_ms: int
    actor: int | None
    """The seat that acted; None: nobody at the table did."""
    events: tuple[TableEvent | Event, ...] = ()
    mark: bytes = b""
    """8 bytes that the store draws for each commit: two versions of one number have the same mark only if they are one.
    Empty: a release that drew none has made it."""
    before: bytes = b""
    """The mark of the version before; empty: it has none."""

    def follows(self, version: int, mark: bytes) -> bool:
        """Whether it led on from this version of this mark."""
        return self.version == version + 1 and not differ(self.before, mark)


def differ(mark: bytes, other: bytes) -> bool:
    """Whether both marks are known, and of different commits."""
    return bool(mark and other) and mark != other
