"""What a seat or a watcher may see: the view of a state, and events with their secrets taken out (G3)."""

import msgspec

from engine.actions import End
from engine.rules import RuleSet
from engine.state import DealResult, MatchResult, Meld, Phase

__all__ = ["LayOffPlace", "SeatView", "Summary", "SwapPlace", "View"]


class LayOffPlace(msgspec.Struct, frozen=True, array_like=True):
    """A single card of the hand that may be laid off on a meld; `ends` holds the ends of a run, none for a set."""

    meld: int
    card: int
    ends: tuple[End, ...]


class SwapPlace(msgspec.Struct, frozen=True, array_like=True):
    """A natural of the hand that may be put for a joker of a meld."""

    meld: int
    card: int


class Summary(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What the seat to move may do now, in short; the full list is `engine.legal.legal_actions`."""

    may_draw: bool
    may_pass: bool
    takes: tuple[int, ...]
    """Depths, from 1, to which the discard pile may be taken."""
    may_lay_down: bool
    """Whether any new meld may be laid."""
    lay_offs: tuple[LayOffPlace, ...]
    swaps: tuple[SwapPlace, ...]
    discards: bytes
    """Cards that may be discarded, each once."""


class SeatView(msgspec.Struct, frozen=True, array_like=True):
    """What all may know of a seat. `hand` is None while it is hidden from the viewer."""

    cards: int
    score: int
    out: bool
    voided: bool
    hand: bytes | None


class View(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A match as one seat, or a spectator (`seat` None), sees it."""

    seat: int | None
    rules: RuleSet
    phase: Phase
    deal: int
    dealer: int
    round: int
    turn: int
    seats: tuple[SeatView, ...]
    melds: tuple[Meld, ...]
    """In the order in which they were laid; their indices are their names in actions."""
    pile: bytes
    """All of the discard pile where any of it may be taken, else its top card alone; the top is last."""
    pile_count: int
    stock_count: int
    pool: int
    turn_overs: int
    idle: int
    knocked: bool
    owed: int | None
    """The card taken from the pile that is still to be used (F10)."""
    owed_jokers: int
    """Jokers swapped into the hand that are still to be played in this turn."""
    commitment: bytes
    """SHA-256 of this deal's seed (G6)."""
    next_commitment: bytes
    """SHA-256 of the next deal's seed."""
    seed: bytes | None
    """This deal's seed, once the deal is over."""
    result: DealResult | None
    match: MatchResult | None
    options: Summary | None
    """For the seat to move alone."""
