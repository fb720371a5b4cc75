"""Everything that is wrong with a state, for tests, for tools and for whoever suspects a bug (G1)."""

from collections.abc import Iterator
from itertools import chain

from engine.actions import MeldKind
from engine.cards import JOKER, NO_CARD, deck, write_cards
from engine.faults import faults
from engine.melds import Reading, readings
from engine.rules import packs_for
from engine.scoring import out_seats
from engine.state import Meld, Phase, State

__all__ = ["status"]


def status(state: State) -> list[str]:
    """A sentence for each broken invariant, in no order; none for a state that play can have led to."""
    shape = [*_seats(state)]
    if shape:
        return shape  # nothing else can be told of a state that does not even hang together
    rules = (f"rules: {fault.field}: {fault.text}" for fault in faults(state.rules, len(state.hands)))
    return [*rules, *_cards(state), *_table(state), *_turn(state), *_results(state)]


def _seats(state: State) -> Iterator[str]:
    seats = len(state.hands)
    if len(state.scores) != seats or len(state.last_discards) != seats:
        yield f"{seats} hands, but {len(state.scores)} scores and {len(state.last_discards)} last discards"
    named = chain((state.dealer, state.turn), state.voided, state.laid, state.at_once)
    owners = chain.from_iterable((*meld.owners, meld.founder) for meld in state.melds)
    yield from (f"there is no seat {seat}" for seat in sorted({*named, *owners}) if not 0 <= seat < seats)


def _cards(state: State) -> Iterator[str]:
    """Hands, melds, stock and pile are exactly the pack."""
    held = bytes(sorted(b"".join((*state.hands, state.stock, state.pile, *(meld.cards for meld in state.melds)))))
    pack = deck(packs_for(state.rules, len(state.hands)), state.rules.jokers)
    for card in range(JOKER + 1):
        if held.count(card) != pack.count(card):
            yield f"{held.count(card)} of {write_cards([card])}, where the pack has {pack.count(card)}"
    if any(card > JOKER for card in held):
        yield "a card that is none"
    yield from (f"hand {seat} is not sorted" for seat, hand in enumerate(state.hands) if hand != bytes(sorted(hand)))


def _table(state: State) -> Iterator[str]:
    for index, meld in enumerate(state.melds):
        if len(meld.owners) != len(meld.cards):
            yield f"meld {index} has {len(meld.cards)} cards and {len(meld.owners)} owners"
        if not any(_lies(meld, reading) for reading in readings(state.rules, meld.cards, meld.kind)):
            yield f"meld {index}, {write_cards(meld.cards)}, is no {meld.kind} from {meld.low}"
    if state.melds and not state.knocked:
        yield "there are melds, though nobody has knocked"


def _lies(meld: Meld, reading: Reading) -> bool:
    return reading.low == meld.low and (meld.kind is MeldKind.SET or reading.cards == meld.cards)


def _turn(state: State) -> Iterator[str]:
    playing = state.phase in (Phase.DRAW, Phase.PLAY)
    if state.deal < 1 or state.round < 1:
        yield f"deal {state.deal}, round {state.round}"
    if playing and (state.turn in state.voided or state.turn in out_seats(state)):
        yield f"seat {state.turn} is to move, though it is out or void"
    if state.phase is Phase.DRAW and (state.taken or state.owed or state.owed_jokers or state.laid_now):
        yield "before the draw there is something taken, owed or laid in this turn"
    if state.owed and (not state.taken or state.taken[0] not in state.hands[state.turn]):
        yield "the chosen card is owed, but not held"
    if state.owed_jokers > state.hands[state.turn].count(JOKER):
        yield f"{state.owed_jokers} jokers are owed, more than are held"
    if out_seats(state) and playing and not state.rules.finish_round:
        yield "somebody is out, and the deal goes on"
    if playing and state.rules.round_limit and state.round > state.rules.round_limit:
        yield f"round {state.round} of at most {state.rules.round_limit}"


def _results(state: State) -> Iterator[str]:
    over = state.phase in (Phase.DEAL_OVER, Phase.MATCH_OVER)
    if over != (state.result is not None):
        yield f"phase {state.phase}, and {'a' if state.result else 'no'} result of the deal"
    if (state.phase is Phase.MATCH_OVER) != (state.match is not None):
        yield f"phase {state.phase}, and {'a' if state.match else 'no'} result of the match"
    if state.match and sum(state.match.settlement):
        yield "what is paid and what is received differ"
    for seat, card in enumerate(state.last_discards):
        if card != NO_CARD and state.hands[seat]:
            yield f"seat {seat} has gone out by a discard, and holds cards"
