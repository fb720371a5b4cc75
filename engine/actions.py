"""What a seat may ask for. Cards are as in `engine.cards`; melds are named by their number on the table, from 0."""

from enum import StrEnum

import msgspec

__all__ = ["Action", "Discard", "Draw", "End", "LayDown", "LayOff", "MeldKind", "Pass", "SwapJoker", "Take"]


class MeldKind(StrEnum):
    """A set (one rank) or a run (one suit, ranks in a row)."""

    SET = "set"
    RUN = "run"


class End(StrEnum):
    """An end of a run."""

    LOW = "low"
    HIGH = "high"


class Draw(msgspec.Struct, frozen=True, array_like=True, tag="draw"):
    """Draw the top of the stock (in an opening round with `opening_draw`, several cards)."""


class Take(msgspec.Struct, frozen=True, array_like=True, tag="take"):
    """Take the `count` ≥ 1 top cards of the discard pile; the deepest of them is the chosen one (F9)."""

    count: int


class LayDown(msgspec.Struct, frozen=True, array_like=True, tag="lay_down"):
    """Lay a new meld. With a joker in a run the order of `cards`, low to high, says what the joker stands for (B7).

    `kind` is needed only where the cards could be a set and a run.
    """

    cards: bytes
    kind: MeldKind | None = None


class LayOff(msgspec.Struct, frozen=True, array_like=True, tag="lay_off"):
    """Add cards to the meld of number `meld`; `end` is needed only where they could go to either end (F13)."""

    meld: int
    cards: bytes
    end: End | None = None


class SwapJoker(msgspec.Struct, frozen=True, array_like=True, tag="swap_joker"):
    """Put the natural `card` for a joker of the meld of number `meld`, and take that joker into the hand (B7)."""

    meld: int
    card: int


class Discard(msgspec.Struct, frozen=True, array_like=True, tag="discard"):
    """Discard one card; that ends the turn."""

    card: int


class Pass(msgspec.Struct, frozen=True, array_like=True, tag="pass"):
    """End the turn without a discard (P11), or neither draw nor take where the stock is gone (F14)."""


Action = Draw | Take | LayDown | LayOff | SwapJoker | Discard | Pass
