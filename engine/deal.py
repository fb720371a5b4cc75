"""Dealing: who deals, who begins, how many cards each gets and draws.

The cards, in the order that the seed decides (`engine.shuffle`), are dealt one at a time, clockwise from the first
player, until each seat has its hand; the next card is the up-card, where there is one; the rest is the stock.
"""

from engine import shuffle
from engine.cards import NO_CARD, deck
from engine.rules import RuleSet, Scoring, hand_size_for, packs_for
from engine.state import Phase, State

__all__ = ["dealt", "draw_count", "first_player"]


def dealt(
    rules: RuleSet,
    *,
    deal: int,
    dealer: int,
    scores: tuple[int, ...],
    pool: int,
    seed: bytes,
    next_seed: bytes,
    entropy: bytes = b"",
) -> State:
    """The state at the start of a deal (B2, B3, F8, P6); the stake is put into the pool here (P4)."""
    seats = len(scores)
    size, first = hand_size_for(rules, seats), (dealer + 1) % seats
    cards = shuffle.order(seed, deck(packs_for(rules, seats), rules.jokers), entropy=entropy)
    given, up = seats * size, int(rules.up_card)
    stake = (rules.stake or 0) if rules.scoring is Scoring.POOL else 0
    hands = [bytes(sorted(cards[(seat - first) % seats : given : seats])) for seat in range(seats)]
    return State(
        rules=rules,
        phase=Phase.DRAW,
        deal=deal,
        dealer=dealer,
        round=1,
        turn=first,
        scores=scores,
        pool=pool + stake,
        seed=seed,
        next_seed=next_seed,
        entropy=entropy,
        hands=tuple(hands),
        stock=cards[given + up :],
        pile=cards[given : given + up],
        last_discards=bytes([NO_CARD] * seats),
    )


def first_player(state: State) -> int:
    """The seat left of the dealer: it begins, and every round begins with it."""
    return (state.dealer + 1) % len(state.hands)


def draw_count(state: State) -> int:
    """The cards that the seat to move draws from the stock: one, but more in an opening round (P7)."""
    if state.round > 1 or not state.rules.opening_draw:
        return 1
    return state.rules.opening_draw + (state.turn - first_player(state)) % len(state.hands)
