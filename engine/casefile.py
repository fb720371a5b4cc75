"""The JSON form of a case (`engine.cases` shows one), and the state, actions and cards that it stands for.

Positions are loose: they need not hold a whole pack, nor as many seats as the rules admit. What is malformed raises
CaseError, which names the place.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import NO_CARD
from engine.errors import BadNotation, BadRules
from engine.faults import complete, faults
from engine.melds import readings
from engine.notation import read_card, read_cards
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Meld, Phase, State

__all__ = ["Case", "CaseError", "Dealt", "Expect", "action_of", "position_of", "read_case_file"]


class CaseError(Exception):
    """A case, or a file of cases, that cannot be read; the text names the place and what is wrong there."""


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON object whose every key is known."""


class Lie(_Form, frozen=True):
    """A meld on the table, with the seat that laid it, or the seats card by card."""

    cards: str
    owner: int | None = None
    owners: tuple[int, ...] | None = None
    as_: MeldKind | None = msgspec.field(default=None, name="as")


class Position(_Form, frozen=True):
    """Where a case begins."""

    hands: tuple[str, ...]
    table: tuple[Lie, ...] = ()
    stock: str = ""
    discard: str = ""
    turn: int = 0
    phase: Literal["draw", "play"] = "draw"
    dealer: int | None = None
    round: int = 2
    scores: tuple[int, ...] | None = None
    turn_overs: int = 0
    deal: int = 1
    idle: int = 0
    knocked: bool = True
    pool: int | None = None


class Depth(_Form, frozen=True):
    """The so many top cards of the discard pile."""

    discard: int


class New(_Form, frozen=True):
    """A meld with its kind named."""

    cards: str
    as_: MeldKind | None = msgspec.field(default=None, name="as")


class Off(_Form, frozen=True):
    """A lay-off."""

    meld: int
    cards: str
    end: End | None = None


class Swap(_Form, frozen=True):
    """A natural put for a joker."""

    meld: int
    card: str


class Do(_Form, frozen=True):
    """An action: just one of these keys."""

    draw: Literal["stock"] | Depth | None = None
    meld: str | New | None = None
    lay_off: Off | None = None
    swap_joker: Swap | None = None
    discard: str | None = None
    pass_: Literal[True] | None = msgspec.field(default=None, name="pass")


class Dealt(_Form, frozen=True):
    """What a deal begins with: the numbers of cards in each hand, the stock and the discard pile, and the pool."""

    hands: tuple[int, ...]
    stock: int
    discard: int
    pool: int = 0


class Expect(_Form, frozen=True):
    """What must come of it; None where it is not compared."""

    refused: str | None = None
    hands: tuple[str, ...] | None = None
    table: tuple[str, ...] | None = None
    discard: str | None = None
    stock: str | None = None
    turn: int | None = None
    phase: str | None = None
    round: int | None = None
    scores: tuple[int, ...] | None = None
    deal_scores: tuple[int, ...] | None = None
    winners: tuple[int, ...] | None = None
    deal_over: bool | None = None
    void: bool | None = None
    match_over: bool | None = None
    pool: int | None = None
    settlement: tuple[int, ...] | None = None
    voided: tuple[int, ...] | None = None
    dealt: Dealt | None = None
    """Of the next deal, where this one is over and the match goes on."""


class Case(_Form, frozen=True):
    """One case."""

    id: str
    clause: str
    why: str
    rules: dict[str, Any]
    position: Position
    do: tuple[tuple[int, Do], ...]
    expect: Expect


def read_case_file(path: Path) -> list[Case]:
    """The cases of a file. Raises CaseError."""
    try:
        cases = msgspec.json.decode(path.read_bytes(), type=list[Case])
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise CaseError(f"{path}: {error}") from error
    ids = [case.id for case in cases]
    for case in cases:
        if ids.count(case.id) > 1:
            raise CaseError(f"{path}: the id {case.id} is used more than once")
        if not case.do and case.expect.refused:
            raise CaseError(f"{path}: {case.id}: nothing is done, and a refusal is expected")
    return cases


def position_of(case: Case) -> State:
    """The state in which the case begins. Raises CaseError."""
    position, rules, seats = case.position, _rules(case), len(case.position.hands)
    for seat in (position.turn, position.dealer or 0, *(seat for seat, _ in case.do)):
        if not 0 <= seat < seats:
            raise CaseError(f"{case.id}: there is no seat {seat}")
    scores = position.scores or (0,) * seats
    if len(scores) != seats:
        raise CaseError(f"{case.id}: position.scores: {len(scores)} scores for {seats} seats")
    melds = tuple(_meld(case, rules, index) for index in range(len(position.table)))
    return State(
        rules=rules,
        phase=Phase(position.phase),
        deal=position.deal,
        dealer=seats - 1 if position.dealer is None else position.dealer,
        round=position.round,
        turn=position.turn,
        scores=scores,
        pool=(rules.stake or 0) if position.pool is None else position.pool,
        seed=bytes(SEED_SIZE),
        next_seed=bytes(SEED_SIZE),
        hands=tuple(
            bytes(sorted(_cards(case, f"position.hands[{seat}]", hand))) for seat, hand in enumerate(position.hands)
        ),
        stock=_cards(case, "position.stock", position.stock),
        pile=_cards(case, "position.discard", position.discard),
        melds=melds,
        knocked=position.knocked,
        laid=tuple(sorted({owner for meld in melds for owner in meld.owners})),
        last_discards=bytes([NO_CARD] * seats),
        turn_overs=position.turn_overs,
        idle=position.idle,
    )


def action_of(case: Case, index: int) -> Action:
    """The action of index `index` in the case's list. Raises CaseError."""
    asked, place = case.do[index][1], f"do[{index}]"
    match msgspec.to_builtins(asked, str_keys=True):
        case given if sum(value is not None for value in given.values()) != 1:
            raise CaseError(f"{case.id}: {place}: an action has just one key")
    match asked:
        case Do(draw="stock"):
            return Draw()
        case Do(draw=Depth(discard=count)):
            return Take(count)
        case Do(meld=str() as cards):
            return LayDown(_cards(case, place, cards))
        case Do(meld=New(cards=cards, as_=kind)):
            return LayDown(_cards(case, place, cards), kind)
        case Do(lay_off=Off(meld=meld, cards=cards, end=end)):
            return LayOff(meld, _cards(case, place, cards), end)
        case Do(swap_joker=Swap(meld=meld, card=card)):
            return SwapJoker(meld, _card(case, place, card))
        case Do(discard=str() as card):
            return Discard(_card(case, place, card))
    return Pass()


def _rules(case: Case) -> RuleSet:
    overrides = dict(case.rules)
    preset = overrides.pop("preset", None)
    try:
        rules = complete(str(preset), overrides)
        found = [fault for fault in faults(rules) if fault.reason not in _OF_A_MATCH]
        if found:
            raise BadRules(found)
    except BadRules as error:
        raise CaseError(f"{case.id}: rules: {error}") from error
    return rules


def _meld(case: Case, rules: RuleSet, index: int) -> Meld:
    lie, place = case.position.table[index], f"position.table[{index}]"
    cards = _cards(case, place, lie.cards)
    ways = readings(rules, cards, lie.as_)
    if len(ways) != 1:
        raise CaseError(f"{case.id}: {place}: {lie.cards!r} is {'no meld' if not ways else 'a set or a run: say as'}")
    owners = [lie.owner] * len(cards) if lie.owner is not None else list(lie.owners or ())
    seats = range(len(case.position.hands))
    if len(owners) != len(cards) or any(owner not in seats for owner in owners):
        raise CaseError(f"{case.id}: {place}: an owner, or owners card by card, is asked for, each a seat")
    kind, laid, low = ways[0]
    by_card = list(zip(cards, owners, strict=True))
    ordered = [by_card.pop(next(i for i, (held, _) in enumerate(by_card) if held == card))[1] for card in laid]
    return Meld(kind, laid, bytes(ordered), owners[0], low)


def _cards(case: Case, place: str, text: str) -> bytes:
    try:
        return read_cards(text)
    except BadNotation as error:
        raise CaseError(f"{case.id}: {place}: {error}") from error


def _card(case: Case, place: str, text: str) -> int:
    try:
        return read_card(text)
    except BadNotation as error:
        raise CaseError(f"{case.id}: {place}: {error}") from error


_OF_A_MATCH = (
    "NO_END",
    "TOO_MANY_CARDS",
)  # how a deal is dealt, and a match ends, is no matter to a moment
