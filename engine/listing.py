"""Every meld that a hand can make, and every way in which it can add to a meld on the table.

Each is given once, whatever the equal cards, with jokers in every distinct place.
"""

from collections.abc import Iterator
from itertools import product

from engine.actions import MeldKind
from engine.cards import JOKER
from engine.melds import Extension, Reading, card_at, highest, set_limit, suit_of_run
from engine.rules import RuleSet
from engine.state import Meld

__all__ = ["all_extensions", "all_melds"]


def all_melds(rules: RuleSet, hand: bytes, using: int | None = None) -> Iterator[Reading]:
    """Every new meld that the hand can make; with `using`, only those that hold that card."""
    natural = using is not None and using != JOKER
    for rank in [using % 13] if natural and using is not None else range(13):
        for cards in _of_rank(rules, hand, rank, rules.set_min, set_limit(rules)):
            if using is None or using in cards:
                yield Reading(MeldKind.SET, cards, rank + 1)
    for suit in [using // 13] if natural and using is not None else range(4):
        for low, cards in _runs(rules, hand, suit):
            if using is None or using in cards:
                yield Reading(MeldKind.RUN, cards, low)


def all_extensions(rules: RuleSet, meld: Meld, hand: bytes) -> Iterator[Extension]:
    """Every way to add cards of the hand to the meld, free jokers at both ends of a run included."""
    if meld.kind is MeldKind.SET:
        room = set_limit(rules) - len(meld.cards)
        barred = meld.cards if rules.distinct_suits else b""
        for cards in _of_rank(
            rules, hand.translate(None, barred.replace(_JOKERS, b"")), meld.low - 1, 1, room, least_naturals=0
        ):
            yield Extension(b"", cards)
        return
    first, last = meld.low, meld.low + len(meld.cards) - 1
    suit, held, jokers = suit_of_run(meld), set(hand), hand.count(JOKER)
    for low in _chains(suit, held, range(first - 1, 0, -1), jokers):
        # never an ace at both ends: where the run reaches down to 1 it may not reach 14, nor the other way round
        top = 13 if first - len(low) == 1 else highest(rules)
        for high in _chains(suit, held, range(last + 1, top + 1), jokers - low.count(JOKER)):
            if low or high:
                yield Extension(low[::-1], high)


def _of_rank(
    rules: RuleSet, hand: bytes, rank: int, least: int, most: int, *, least_naturals: int = 1
) -> Iterator[bytes]:
    """Every bag of `least` to `most` cards of the rank (0-12), jokers included, sorted."""
    counts = [hand.count(suit * 13 + rank) for suit in range(4)]
    if rules.distinct_suits:
        counts = [min(count, 1) for count in counts]
    jokers = hand.count(JOKER)
    if sum(counts) + jokers < least or sum(counts) < least_naturals:
        return
    for taken in product(*(range(count + 1) for count in counts)):
        naturals = sum(taken)
        if naturals < least_naturals:
            continue
        cards = b"".join(bytes([suit * 13 + rank]) * count for suit, count in enumerate(taken))
        for wild in range(max(0, least - naturals), min(jokers, most - naturals) + 1):
            yield cards + _JOKERS * wild


def _runs(rules: RuleSet, hand: bytes, suit: int) -> Iterator[tuple[int, bytes]]:
    """Every run of the suit, low to high, with the position of its first card."""
    held, jokers = set(hand), hand.count(JOKER)
    if not any(card // 13 == suit for card in held):
        return
    top = highest(rules)
    for low in range(1, top - rules.run_min + 2):
        for cards in _chains(suit, held, range(low, min(top, low + 12) + 1), jokers):
            if len(cards) >= rules.run_min and cards.count(JOKER) < len(cards):
                yield low, cards


def _chains(suit: int, held: set[int], places: range, jokers: int) -> Iterator[bytes]:
    """Every unbroken filling of the places from the first on, the empty one included, with naturals and jokers."""
    yield b""
    if not places:
        return
    card = card_at(suit, places[0])
    if card in held:
        for rest in _chains(suit, held, places[1:], jokers):
            yield bytes([card]) + rest
    if jokers:
        for rest in _chains(suit, held, places[1:], jokers - 1):
            yield _JOKERS + rest


_JOKERS = bytes([JOKER])
