"""Every meld that a hand can make, and every way in which it can add to a meld on the table.

Each is given once, whatever the equal cards, with jokers in every distinct place. Most hands make few melds, so what is
asked first is cheap: how many cards of a rank there are, and where in a suit enough naturals are close together.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, product

from engine.actions import MeldKind
from engine.cards import JOKER, suit_of
from engine.melds import Extension, Reading, card_at, highest, set_limit, suit_of_run
from engine.rules import Ace, RuleSet
from engine.state import Meld

__all__ = ["all_extensions", "all_melds"]


def all_melds(rules: RuleSet, hand: bytes, using: int | None = None) -> Iterable[Reading]:
    """Every new meld that the hand can make; with `using`, only those that hold that card."""
    jokers = hand.count(JOKER)
    ranks, lows = _ranks(rules, hand, jokers), _lows(rules, hand, jokers)
    if using is not None and using != JOKER:
        ranks, lows = [using % 13], [(suit, low) for suit, low in lows if suit == suit_of(using)]
    if not ranks and not lows:
        return ()
    melds = chain(_sets(rules, hand, ranks), _runs(rules, hand, lows, jokers))
    return melds if using is None else (meld for meld in melds if using in meld.cards)


def _sets(rules: RuleSet, hand: bytes, ranks: list[int]) -> Iterator[Reading]:
    for rank in ranks:
        same = hand.translate(None, _BUT_RANK[rank])
        for cards in _bags(same, rules.set_min, set_limit(rules), distinct=rules.distinct_suits, least_naturals=1):
            yield Reading(MeldKind.SET, cards, rank + 1)


def _runs(rules: RuleSet, hand: bytes, lows: list[tuple[int, int]], jokers: int) -> Iterator[Reading]:
    for suit, low in lows:
        for cards in _chains(suit, hand, range(low, min(highest(rules), low + 12) + 1), jokers):
            if len(cards) >= rules.run_min and cards.count(JOKER) < len(cards):
                yield Reading(MeldKind.RUN, cards, low)


def all_extensions(rules: RuleSet, meld: Meld, hand: bytes) -> Iterable[Extension]:
    """Every way to add cards of the hand to the meld, free jokers at both ends of a run included."""
    if JOKER not in hand and hand.translate(None, _next_to(meld.kind, meld.cards, meld.low)) == hand:
        return ()
    return _added_to_set(rules, meld, hand) if meld.kind is MeldKind.SET else _added_to_run(rules, meld, hand)


def _added_to_set(rules: RuleSet, meld: Meld, hand: bytes) -> Iterator[Extension]:
    barred = meld.cards.replace(_JOKERS, b"") if rules.distinct_suits else b""
    fitting = hand.translate(None, _BUT_RANK[meld.low - 1] + barred)
    room = set_limit(rules) - len(meld.cards)
    for cards in _bags(fitting, 1, room, distinct=rules.distinct_suits, least_naturals=0):
        yield Extension(b"", cards)


def _added_to_run(rules: RuleSet, meld: Meld, hand: bytes) -> Iterator[Extension]:
    first, last = meld.low, meld.low + len(meld.cards) - 1
    suit, jokers = suit_of_run(meld), hand.count(JOKER)
    for low in _chains(suit, hand, range(first - 1, 0, -1), jokers):
        # never an ace at both ends: where the run reaches down to 1 it may not reach 14, nor the other way round
        top = 13 if first - len(low) == 1 else highest(rules)
        for high in _chains(suit, hand, range(last + 1, top + 1), jokers - low.count(JOKER)):
            if low or high:
                yield Extension(low[::-1], high)


@lru_cache(maxsize=4096)
def _next_to(kind: MeldKind, cards: bytes, low: int) -> bytes:
    """The naturals of which one must be added to the meld where no joker is: the rank's, or those at a run's ends."""
    if kind is MeldKind.SET:
        return bytes(range(low - 1, JOKER, 13))
    suit = next(card for card in cards if card != JOKER) // 13
    return bytes([card_at(suit, low - 1), card_at(suit, low + len(cards))])


@lru_cache(maxsize=4096)
def _bags(cards: bytes, least: int, most: int, *, distinct: bool, least_naturals: int) -> tuple[bytes, ...]:
    """Every bag of `least` to `most` of the cards, all of one rank or jokers; if `distinct`, of naturals each once.

    All at once, not as they are asked for: they are few, some hundreds at most in play, and are kept for the next time.
    """
    jokers, naturals = cards.count(JOKER), sorted(set(cards.replace(_JOKERS, b"")))
    counts = [1 if distinct else cards.count(card) for card in naturals]
    found = []
    for taken in product(*(range(count + 1) for count in counts)):
        size = sum(taken)
        if size >= least_naturals:
            bag = b"".join(bytes([card]) * count for card, count in zip(naturals, taken, strict=True))
            found += [bag + _JOKERS * wild for wild in range(max(0, least - size), min(jokers, most - size) + 1)]
    return tuple(found)


def _ranks(rules: RuleSet, hand: bytes, jokers: int) -> list[int]:
    """Each rank (0-12) of which the smallest set would lack no more naturals than there are jokers."""
    ranks = hand.translate(_RANKS, _JOKERS)
    each = set(ranks)
    if len(hand) - len(each) + 1 < rules.set_min:
        return []  # even if all that are there more than once were of one rank
    return sorted([rank for rank in each if ranks.count(rank) >= rules.set_min - jokers])


def _lows(rules: RuleSet, hand: bytes, jokers: int) -> list[tuple[int, int]]:
    """Each suit and place from which the shortest run would lack no more naturals than there are jokers."""
    held = sum(map(_BITS.__getitem__, set(hand)))
    if rules.ace is Ace.EITHER:
        held |= (held & _ACES) << 13
    if not jokers:
        close, found = held, []
        for step in range(1, rules.run_min):
            close &= held >> step
        while close:
            lowest = close & -close
            close ^= lowest
            found.append(divmod(lowest.bit_length() - 1, 16))
        return found
    shortest, least = (1 << rules.run_min) - 1, rules.run_min - jokers
    suits = {suit: held >> 16 * suit & 0xFFFF for suit in range(4)}
    lows = range(1, highest(rules) - rules.run_min + 2)
    return [
        (suit, low)
        for suit, places in suits.items()
        for low in lows
        if places and (places >> low & shortest).bit_count() >= least
    ]


def _chains(suit: int, hand: bytes, places: range, jokers: int) -> Iterator[bytes]:
    """Every unbroken filling of the places from the first on, the empty one included, with naturals and jokers."""
    filled = b""
    yield filled
    if not jokers:
        for place in places:
            card = card_at(suit, place)
            if card not in hand:
                return
            filled += bytes([card])
            yield filled
    if not places or not jokers:
        return
    card = card_at(suit, places[0])
    if card in hand:
        for rest in _chains(suit, hand, places[1:], jokers):
            yield bytes([card]) + rest
    for rest in _chains(suit, hand, places[1:], jokers - 1):
        yield _JOKERS + rest


_JOKERS = bytes([JOKER])
_RANKS = bytes(card % 13 for card in range(256))
_BUT_RANK = [bytes(card for card in range(JOKER) if card % 13 != rank) for rank in range(13)]
_BITS = [*(1 << 16 * (card // 13) + card % 13 + 1 for card in range(JOKER)), 0]  # 16 bits a suit, its places from 1 on
_ACES = sum(_BITS[ace] for ace in range(0, JOKER, 13))
