"""What came of an action, for seats and watchers to follow.

`DealStarted.hands` and `Drew.cards` are the only secrets an event ever holds before its deal is over;
`engine.view.redact` takes them out for those who may not see them. All else lies open on the table.
"""

from enum import StrEnum

import msgspec

from engine.actions import MeldKind

__all__ = [
    "DealEnd",
    "DealEnded",
    "DealStarted",
    "Discarded",
    "Drew",
    "Event",
    "HandVoided",
    "JokerSwapped",
    "Knocked",
    "LaidDown",
    "LaidOff",
    "MatchEnded",
    "Passed",
    "Renewal",
    "SeatOut",
    "StockRenewed",
    "TookPile",
    "TurnStarted",
]


class Renewal(StrEnum):
    """How the pile became a new stock: turned over as it lay, or shuffled (B8)."""

    TURN_OVER = "turn_over"
    SHUFFLE = "shuffle"


class DealEnd(StrEnum):
    """What ended a deal."""

    OUT = "out"
    STOCK = "stock"
    """The stock is gone, and nobody goes on from the pile (F14, P18)."""
    ROUNDS = "rounds"
    """The last round was played (P18)."""
    IDLE = "idle"
    """Too many rounds in which nothing happened (B8)."""
    STUCK = "stuck"
    """The seat to move could do nothing, or a turn-over too many was needed (B8)."""
    VOIDED = "voided"
    """No seat is left that may play (P15)."""


class DealStarted(msgspec.Struct, frozen=True, array_like=True, tag="deal_started"):
    """A deal was dealt. `commitment` is the SHA-256 of its seed, `next_commitment` that of the next deal's (G6)."""

    deal: int
    dealer: int
    hand_size: int
    stock: int
    """Cards in the stock, after the up-card."""
    up_card: int | None
    pool: int
    commitment: bytes
    next_commitment: bytes
    hands: tuple[bytes | None, ...]
    """By seat; None where the reader may not see the hand."""


class TurnStarted(msgspec.Struct, frozen=True, array_like=True, tag="turn_started"):
    """A seat is to move, in this round of the deal."""

    seat: int
    round: int


class Drew(msgspec.Struct, frozen=True, array_like=True, tag="drew"):
    """A seat drew `count` cards from the stock; `cards` is None where the reader may not see them."""

    seat: int
    count: int
    cards: bytes | None


class StockRenewed(msgspec.Struct, frozen=True, array_like=True, tag="stock_renewed"):
    """The pile became the stock again; one card of it, `up_card`, starts the new pile (B8)."""

    how: Renewal
    up_card: int
    stock: int
    """Cards in the new stock."""


class TookPile(msgspec.Struct, frozen=True, array_like=True, tag="took_pile"):
    """A seat took cards from the discard pile; the first is the chosen one, the last was the top."""

    seat: int
    cards: bytes


class Knocked(msgspec.Struct, frozen=True, array_like=True, tag="knocked"):
    """A seat is the first to lay down in this deal (P14); only where `opening_order` makes that matter."""

    seat: int


class LaidDown(msgspec.Struct, frozen=True, array_like=True, tag="laid_down"):
    """A seat laid a new meld; `meld` is its number, `kind`, `cards` and `low` are as in `engine.state.Meld`."""

    seat: int
    meld: int
    kind: MeldKind
    cards: bytes
    low: int


class LaidOff(msgspec.Struct, frozen=True, array_like=True, tag="laid_off"):
    """A seat added cards to a meld: `low` before its first card, `high` after its last (a set: all `high`)."""

    seat: int
    meld: int
    low: bytes
    high: bytes


class JokerSwapped(msgspec.Struct, frozen=True, array_like=True, tag="joker_swapped"):
    """A seat put the natural `card` for the joker at index `place` of a meld, and took the joker."""

    seat: int
    meld: int
    card: int
    place: int


class Discarded(msgspec.Struct, frozen=True, array_like=True, tag="discarded"):
    """A seat discarded a card."""

    seat: int
    card: int


class Passed(msgspec.Struct, frozen=True, array_like=True, tag="passed"):
    """A seat ended its turn without a discard, or neither drew nor took."""

    seat: int


class HandVoided(msgspec.Struct, frozen=True, array_like=True, tag="hand_voided"):
    """A seat's hand is void for a foul (P15); the cards went back to the hand and are not named."""

    seat: int


class SeatOut(msgspec.Struct, frozen=True, array_like=True, tag="seat_out"):
    """A seat has no card left."""

    seat: int


class DealEnded(msgspec.Struct, frozen=True, array_like=True, tag="deal_ended"):
    """A deal is over: everything of it is open now.

    A dry run does not tell what the hands decide: there `scores`, `totals`, `hands` and `seed` are empty, `pool` is 0.
    """

    deal: int
    end: DealEnd
    winners: tuple[int, ...]
    void: bool
    scores: tuple[int, ...]
    """What each seat scored in this deal."""
    totals: tuple[int, ...]
    pool: int
    """What stays in the pool."""
    hands: tuple[bytes, ...]
    seed: bytes


class MatchEnded(msgspec.Struct, frozen=True, array_like=True, tag="match_ended"):
    """The match is over."""

    winners: tuple[int, ...]
    totals: tuple[int, ...]
    settlement: tuple[int, ...]
    """What each seat receives (+) or pays (-)."""


Event = (
    DealStarted
    | TurnStarted
    | Drew
    | StockRenewed
    | TookPile
    | Knocked
    | LaidDown
    | LaidOff
    | JokerSwapped
    | Discarded
    | Passed
    | HandVoided
    | SeatOut
    | DealEnded
    | MatchEnded
)
