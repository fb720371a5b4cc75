"""Laying cards on the table: new melds, lay-offs, jokers swapped; what is refused, and what could be laid."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from engine.actions import End, LayDown, LayOff, MeldKind, SwapJoker
from engine.cards import JOKER, holds, put_in, take_out, write_cards
from engine.deal import first_player
from engine.debts import can_settle
from engine.errors import Misfit, Reason, Refused
from engine.events import JokerSwapped, LaidDown, LaidOff
from engine.listing import all_extensions, all_melds
from engine.melds import (
    Extension,
    extended,
    extension_at,
    extensions,
    may_lay_off,
    readings,
    swap_place,
    swapped,
)
from engine.rules import GoOut, JokerSwap, LayOffs, OpeningOrder, RuleSet
from engine.state import Meld, State

__all__ = [
    "Lay",
    "Placed",
    "after",
    "check_lay",
    "is_open",
    "may_lay",
    "possible_lay_offs",
    "possible_lays",
]

Lay = LayDown | LayOff | SwapJoker


class Placed(NamedTuple):
    """What a lay comes to: its event, the table and the hand after it, the swapped jokers then still to be played."""

    event: LaidDown | LaidOff | JokerSwapped
    melds: tuple[Meld, ...]
    hand: bytes
    owed_jokers: int


def check_lay(state: State, seat: int, lay: Lay) -> Placed:
    """What the lay comes to; the seat is to move and has drawn. Raises Refused where the rules forbid it."""
    if not is_open(state, seat):
        why = "until somebody has knocked, only the first player may lay down"
        raise Refused(Reason.LAYING_DOWN_CLOSED, why, clause="P14", field="opening_order")
    match lay:
        case LayDown():
            return _check_lay_down(state, seat, lay)
        case LayOff():
            return _check_lay_off(state, seat, lay)
        case SwapJoker():
            return _check_swap(state, seat, lay)


def may_lay(state: State, seat: int, lay: Lay) -> bool:
    """Whether the rules allow the lay to the seat, which is to move and has drawn."""
    try:
        check_lay(state, seat, lay)
    except Refused:
        return False
    return True


def possible_lays(state: State, seat: int, using: int | None = None) -> Iterator[Lay]:
    """Every lay that the seat's cards would make, each once; with `using`, those in which it lays that card.

    What else could forbid them (a taken card unused, the last card kept for the discard …) is for `check_lay` to say.
    """
    if not is_open(state, seat):
        return
    rules, hand = state.rules, state.hands[seat]
    for kind, cards, _ in all_melds(rules, hand, using):
        either = len(cards) - cards.count(JOKER) == 1 and len(readings(rules, cards)) > 1
        yield LayDown(cards, kind if either else None)
    for index, meld in enumerate(state.melds):
        if may_lay_off(rules, seat, meld) and (ways := all_extensions(rules, meld, hand)):
            yield from _lay_offs(state, index, ways, using)
        if JOKER in meld.cards:
            yield from _swaps(rules, index, meld, hand if using is None else bytes([using]))


def possible_lay_offs(state: State, seat: int, index: int, using: int | None = None) -> Iterator[LayOff]:
    """The lay-offs among them on the meld of this number."""
    meld = state.melds[index]
    if is_open(state, seat) and may_lay_off(state.rules, seat, meld):
        yield from _lay_offs(state, index, all_extensions(state.rules, meld, state.hands[seat]), using)


def after(state: State, seat: int, placed: Placed) -> State:
    """The state with the cards on the table."""
    hands = (*state.hands[:seat], placed.hand, *state.hands[seat + 1 :])
    return replace(
        state,
        hands=hands,
        melds=placed.melds,
        owed_jokers=placed.owed_jokers,
        owed=False,
        knocked=True,
        laid_now=True,
        busy=True,
    )


def is_open(state: State, seat: int) -> bool:
    """Whether the seat may lay down yet (P14)."""
    if state.knocked or state.rules.opening_order is OpeningOrder.ANY:
        return True
    first = first_player(state)
    return seat == first or first in state.voided


def _check_lay_down(state: State, seat: int, lay: LayDown) -> Placed:
    cards = lay.cards
    _held(state, seat, cards)
    ways = readings(state.rules, cards, lay.kind)
    if not cards:
        raise Refused(Reason.NOT_A_MELD, "no card is named", clause="B5")
    if not ways:
        named = write_cards(cards)
        what = f"no {lay.kind}" if lay.kind else "no set and no run"
        raise Misfit(Reason.NOT_A_MELD, f"{named} is {what}", clause="B5", cards=named)
    if len(ways) > 1:
        named = write_cards(cards)
        why = f"{named} can be read in two ways; the action must say in which"
        raise Refused(Reason.AMBIGUOUS_PLACE, why, clause="B7", cards=named)
    kind, laid, low = ways[0]
    meld = Meld(kind, laid, bytes([seat] * len(laid)), seat, low)
    event = LaidDown(seat, len(state.melds), kind, laid, low)
    return _fair(state, seat, cards, Placed(event, (*state.melds, meld), take_out(state.hands[seat], cards), 0))


def _check_lay_off(state: State, seat: int, lay: LayOff) -> Placed:
    if state.rules.lay_off is LayOffs.NONE:
        raise Refused(Reason.LAY_OFF_CLOSED, "nobody lays off at this table", clause="B6", field="lay_off")
    meld = _meld(state, lay.meld)
    if not may_lay_off(state.rules, seat, meld):
        raise Refused(Reason.LAY_OFF_CLOSED, "a seat lays off on its own melds only", clause="B6", field="lay_off")
    _held(state, seat, lay.cards)
    way = _place(state, meld, lay)
    event = LaidOff(seat, lay.meld, way.low, way.high)
    melds = (*state.melds[: lay.meld], extended(meld, way, seat), *state.melds[lay.meld + 1 :])
    return _fair(state, seat, lay.cards, Placed(event, melds, take_out(state.hands[seat], lay.cards), 0))


def _place(state: State, meld: Meld, lay: LayOff) -> Extension:
    """Where on the meld the cards go (F13)."""
    cards = write_cards(lay.cards)
    if not lay.cards:
        raise Refused(Reason.NOT_A_LAY_OFF, "no card is named", clause="B6")
    ways = extensions(state.rules, meld, lay.cards)
    if ways and lay.end and meld.kind is MeldKind.SET:
        raise Refused(Reason.NOT_A_LAY_OFF, "a set has no ends to name", clause="F13", cards=cards)
    if lay.end:
        way = extension_at(state.rules, meld, lay.cards, lay.end)
        ways = [way] if way else []
    if not ways:
        where = f"at the {lay.end} end of" if lay.end else "on"
        why = f"{cards} does not fit {where} {write_cards(meld.cards)}"
        raise Misfit(Reason.NOT_A_LAY_OFF, why, clause="B6", cards=cards)
    if len(ways) > 1:
        why = f"{cards} could go to either end of {write_cards(meld.cards)}; the action must name it"
        raise Refused(Reason.AMBIGUOUS_PLACE, why, clause="F13", cards=cards)
    return ways[0]


def _check_swap(state: State, seat: int, lay: SwapJoker) -> Placed:
    rules, card = state.rules, write_cards([lay.card])
    meld = _meld(state, lay.meld)
    _held(state, seat, bytes([lay.card]))
    if rules.joker_swap is JokerSwap.NEVER:
        raise Refused(
            Reason.NO_JOKER_TO_SWAP, "jokers stay where they lie", clause="P10", field="joker_swap", cards=card
        )
    place = swap_place(rules, meld, lay.card)
    if place is None:
        why = f"no joker of {write_cards(meld.cards)} stands for {card}"
        raise Refused(Reason.NO_JOKER_TO_SWAP, why, clause="B7", cards=card)
    _uses_taken(state, bytes([lay.card]))
    melds = (*state.melds[: lay.meld], swapped(meld, place, lay.card, seat), *state.melds[lay.meld + 1 :])
    owed = state.owed_jokers + 1 if rules.joker_swap is JokerSwap.SAME_TURN else 0
    hand = put_in(take_out(state.hands[seat], [lay.card]), [JOKER])
    placed = Placed(JokerSwapped(seat, lay.meld, lay.card, place), melds, hand, owed)
    if not can_settle(state.rules, seat, placed.hand, placed.melds, placed.owed_jokers):
        why = "the joker could not be played in this turn"
        raise Refused(Reason.CARD_NOT_USABLE, why, clause="B7", field="joker_swap", cards="JK")
    return placed


def _fair(state: State, seat: int, cards: bytes, placed: Placed) -> Placed:
    """The lay of cards that have the right shape, with what is owed after it."""
    _uses_taken(state, cards)
    if state.owed_jokers:
        placed = placed._replace(owed_jokers=max(0, state.owed_jokers - cards.count(JOKER)))
    if not can_settle(state.rules, seat, placed.hand, placed.melds, placed.owed_jokers):
        why = "the joker swapped in could then not be played in this turn"
        raise Refused(Reason.JOKER_NOT_PLAYED, why, clause="B7", field="joker_swap", cards="JK")
    if not placed.hand and state.rules.go_out is GoOut.DISCARD:
        why = "the last card must be kept for the discard"
        raise Refused(Reason.DISCARD_REQUIRED, why, clause="B4", field="go_out", cards=write_cards(cards))
    return placed


def _lay_offs(state: State, index: int, ways: Iterable[Extension], using: int | None) -> Iterator[LayOff]:
    """The lay-offs that come to these ways; with `using`, to those in which that card is laid."""
    for way in ways:
        if (using is None or using in way.low or using in way.high) and (lay := _named(state, index, way)):
            yield lay


def _swaps(rules: RuleSet, index: int, meld: Meld, cards: bytes) -> Iterator[SwapJoker]:
    """The swaps of the cards, each once, for a joker of the meld, as far as shape decides them."""
    if rules.joker_swap is not JokerSwap.NEVER and JOKER in meld.cards:
        yield from (SwapJoker(index, card) for card in sorted(set(cards)) if swap_place(rules, meld, card) is not None)


def _named(state: State, index: int, way: Extension) -> LayOff | None:
    """The lay-off that comes to just this way, or None where no action says it: free jokers at both ends at once."""
    meld, cards = state.melds[index], way.low + way.high
    if meld.kind is MeldKind.SET or all(card % 13 for card in cards):
        return LayOff(index, cards)  # only aces, and jokers (which are 52), may fit at both ends of a run
    if len(extensions(state.rules, meld, cards)) == 1:
        return LayOff(index, cards)
    for end in End:
        if extension_at(state.rules, meld, cards, end) == way:
            return LayOff(index, cards, end)
    return None


def _meld(state: State, index: int) -> Meld:
    if not 0 <= index < len(state.melds):
        why = f"there is no meld {index} on the table; there are {len(state.melds)}"
        raise Refused(Reason.NO_SUCH_MELD, why, clause="F13")
    return state.melds[index]


def _held(state: State, seat: int, cards: bytes) -> None:
    if not holds(state.hands[seat], cards):
        why = f"the hand does not hold {write_cards(cards)}"
        raise Refused(Reason.CARD_NOT_IN_HAND, why, clause="B5", cards=write_cards(cards))


def _uses_taken(state: State, cards: bytes) -> None:
    if state.owed and state.taken[0] not in cards:
        chosen = write_cards(state.taken[:1])
        why = f"the first lay-down after taking must contain {chosen}"
        raise Refused(Reason.TAKEN_CARD_UNUSED, why, clause="F10", field="use_taken", cards=chosen)
