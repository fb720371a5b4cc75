"""A match at one moment, whole: what `step` takes and gives, and what a store keeps.

Everything that the future of the match depends on is in here, the stock's order and the seeds included, so a state is
secret; what a seat may see of it is made in `engine.view`.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from engine.actions import MeldKind
from engine.errors import BadState, NewerSchema
from engine.events import DealEnd, Event
from engine.rules import RuleSet

__all__ = ["SCHEMA", "DealResult", "MatchResult", "Meld", "Phase", "State", "Step", "decode", "encode"]

SCHEMA: Final = 1


class Phase(StrEnum):
    """What is asked for: a draw, the rest of the turn, the next deal, or nothing any more."""

    DRAW = "draw"
    PLAY = "play"
    DEAL_OVER = "deal_over"
    MATCH_OVER = "match_over"


class Meld(msgspec.Struct, frozen=True, array_like=True):
    """A meld on the table.

    `cards` holds a run low to high; `owners` the seat that laid each of them (F12); `founder` the seat that began it.
    `low` is, for a run, the position 1-14 of its first card (1 the ace below the two, 14 the ace above the king), and
    for a set the rank. A joker at index i of a run stands for position `low` + i.
    """

    kind: MeldKind
    cards: bytes
    owners: bytes
    founder: int
    low: int


class DealResult(msgspec.Struct, frozen=True, array_like=True):
    """How a deal ended: the winning seats, whether it was void, and what each seat scored in it."""

    end: DealEnd
    winners: tuple[int, ...]
    void: bool
    scores: tuple[int, ...]


class MatchResult(msgspec.Struct, frozen=True, array_like=True):
    """How the match ended: the winning seats, and what each seat receives (+) or pays (-)."""

    winners: tuple[int, ...]
    settlement: tuple[int, ...]


class State(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A match between two actions. Seats are numbered from 0, clockwise."""

    schema: int = SCHEMA
    rules: RuleSet
    phase: Phase
    deal: int
    """The number of this deal, from 1."""
    dealer: int
    round: int
    """The number of this round of the deal, from 1."""
    turn: int
    """The seat to move (after a deal: the seat that moved last)."""
    scores: tuple[int, ...]
    """Totals of the deals scored so far."""
    pool: int
    """Points that the pool holds, this deal's stake included (P4)."""
    seed: bytes
    """32 bytes: what this deal was shuffled by (G6)."""
    next_seed: bytes
    """32 bytes: what the next deal will be shuffled by."""
    hands: tuple[bytes, ...]
    stock: bytes
    """First drawn first."""
    pile: bytes
    """Oldest first, the top last."""
    melds: tuple[Meld, ...] = ()
    knocked: bool = False
    """Whether anybody has laid down in this deal (P14)."""
    voided: tuple[int, ...] = ()
    """The seats whose hand a foul has voided (P15)."""
    laid: tuple[int, ...] = ()
    """The seats that have laid any card on the table in an earlier turn of the deal."""
    last_discards: bytes
    """By seat the card with whose discard it went out, `NO_CARD` for none (P17)."""
    at_once: tuple[int, ...] = ()
    """The seats that went out by laying the whole hand in one turn, having laid nothing before (B10)."""
    turn_overs: int = 0
    idle: int = 0
    """Rounds on end, before this one, in which nobody drew from the stock or laid down."""
    busy: bool = False
    """Whether anybody has drawn from the stock or laid down in this round."""
    laid_now: bool = False
    """Whether the seat to move has laid any card on the table in this turn."""
    taken: bytes = b""
    """The cards taken from the pile in this turn, the chosen one first."""
    owed: bool = False
    """Whether the chosen card is still to be used (F10)."""
    owed_jokers: int = 0
    """Jokers swapped into the hand that are still to be played in this turn (`same_turn`)."""
    result: DealResult | None = None
    """Of this deal, once it is over."""
    match: MatchResult | None = None
    """Once the match is over."""
    entropy: bytes = b""
    """What the players have added to every shuffle of the match; public (G6)."""


class Step(NamedTuple):
    """What came of an action: the state after it, and the events that led there."""

    state: State
    events: tuple[Event, ...]


def encode(state: State) -> bytes:
    """The state as bytes (msgpack, positional)."""
    return _encoder.encode(state)


def decode(data: bytes) -> State:
    """The state that `encode` made the bytes of. Raises NewerSchema for a newer release's, BadState for any other."""
    try:
        state = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        _refuse_newer(_schema_of(data))
        raise BadState(f"not a state: {error}") from error
    _refuse_newer(state.schema)
    return state


def _refuse_newer(schema: int) -> None:
    if schema > SCHEMA:
        raise NewerSchema(schema, SCHEMA)


def _schema_of(data: bytes) -> int:
    """The schema number at the head of bytes that did not decode, or 0 where there is none."""
    try:
        head = msgspec.msgpack.decode(data, type=list[msgspec.Raw])
        return msgspec.msgpack.decode(head[0], type=int)
    except (msgspec.MsgspecError, IndexError):
        return 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)
