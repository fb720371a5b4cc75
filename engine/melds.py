"""What cards make a meld, and what may be added to one.

Positions in a run are 1-14: 1 the ace below the two, 14 the ace above the king (where `ace` is `either`); a run never
holds both. A meld holds at least one natural, whatever the number of jokers.
"""

from typing import NamedTuple

from engine.actions import End, MeldKind
from engine.cards import JOKER
from engine.rules import Ace, LayOffs, RuleSet
from engine.state import Meld

__all__ = [
    "Extension", "Reading", "card_at", "extended", "extension_at", "extensions", "highest", "may_lay_off", "readings",
    "set_limit", "suit_of_run", "swap_place", "swapped",
]  # fmt: skip


class Reading(NamedTuple):
    """One way to read cards as a meld: a run low to high from position `low`, or a set of rank `low`."""

    kind: MeldKind
    cards: bytes
    low: int


class Extension(NamedTuple):
    """Cards added to a meld: `low` before its first card, `high` after its last. A set's are all `high`."""

    low: bytes
    high: bytes


def readings(rules: RuleSet, cards: bytes, kind: MeldKind | None = None) -> list[Reading]:
    """Every way to read the cards as a new meld of the kind (None: of either); none where they are no meld (B5, B7).

    With a joker in a run the order given is the reading, low to high; naturals alone may come in any order, and their
    order counts only for all thirteen of a suit, where the ace could be at either end.
    """
    as_set = None if kind is MeldKind.RUN else _as_set(rules, cards)
    as_runs = [] if kind is MeldKind.SET else _as_runs(rules, cards)
    return [as_set, *as_runs] if as_set else as_runs


def extensions(rules: RuleSet, meld: Meld, cards: bytes) -> list[Extension]:
    """Every way to add the cards to the meld (B6, F13): to a run's two ends, or to a set."""
    if not cards:
        return []
    if meld.kind is MeldKind.SET:
        return [Extension(b"", bytes(sorted(cards)))] if _fit_set(rules, meld.cards + cards, meld.low) else []
    suit = suit_of_run(meld)
    naturals = cards.translate(None, _JOKERS)
    wanted = _ranks(naturals, suit)
    if wanted is None:
        return []
    first, last, top, size = meld.low, meld.low + len(meld.cards) - 1, highest(rules), len(cards)
    found = []
    for below in range(max(0, last + size - top), min(size, first - 1) + 1):
        low, high = first - below, last + size - below
        places = _span(low, first - 1) | _span(last + 1, high)
        if not (low == 1 and high == 14) and not wanted & ~(places | places >> 13):
            found.append(Extension(_fill(suit, wanted, low, first - 1), _fill(suit, wanted, last + 1, high)))
    return found


def extension_at(rules: RuleSet, meld: Meld, cards: bytes, end: End) -> Extension | None:
    """The one way to add the cards to a run where an end is named (F13), or None.

    That end receives at least one card, all free jokers (those that fill no gap up to a natural), and an ace that
    could go either way.
    """
    if meld.kind is MeldKind.SET:
        return None
    ways = extensions(rules, meld, cards)
    if end is End.LOW:
        fitting = [way for way in ways if way.low and (not way.high or way.high[-1] != JOKER)]
        return max(fitting, key=lambda way: len(way.low), default=None)
    fitting = [way for way in ways if way.high and (not way.low or way.low[0] != JOKER)]
    return max(fitting, key=lambda way: len(way.high), default=None)


def extended(meld: Meld, extension: Extension, seat: int) -> Meld:
    """The meld with the seat's cards added."""
    low, high = extension
    return Meld(
        meld.kind,
        low + meld.cards + high,
        bytes([seat] * len(low)) + meld.owners + bytes([seat] * len(high)),
        meld.founder,
        meld.low - len(low),
    )


def may_lay_off(rules: RuleSet, seat: int, meld: Meld) -> bool:
    """Whether the rule `lay_off` lets the seat add to the meld (B6, F11)."""
    return rules.lay_off is LayOffs.ANY or (rules.lay_off is LayOffs.OWN and meld.founder == seat)


def swap_place(rules: RuleSet, meld: Meld, card: int) -> int | None:
    """The index of the joker that the natural may be put for, or None (B7).

    In a run the joker must stand for that very card; in a set any card of the rank will do, where suits must be
    distinct one of a suit that is not there.
    """
    if card == JOKER or JOKER not in meld.cards:
        return None
    if meld.kind is MeldKind.SET:
        fits = card % 13 + 1 == meld.low and not (rules.distinct_suits and card in meld.cards)
        return meld.cards.index(JOKER) if fits else None
    suit = suit_of_run(meld)
    for index, held in enumerate(meld.cards):
        if held == JOKER and card_at(suit, meld.low + index) == card:
            return index
    return None


def swapped(meld: Meld, place: int, card: int, seat: int) -> Meld:
    """The meld with the seat's natural in place of the joker there."""
    cards, owners = bytearray(meld.cards), bytearray(meld.owners)
    cards[place], owners[place] = card, seat
    return Meld(meld.kind, bytes(cards), bytes(owners), meld.founder, meld.low)


def highest(rules: RuleSet) -> int:
    """The highest position in a run: 13 the king, or 14 the ace above it."""
    return 14 if rules.ace is Ace.EITHER else 13


def set_limit(rules: RuleSet) -> int:
    """The most cards that a set may have."""
    most = rules.set_max or 255
    return min(most, 4) if rules.distinct_suits else most


def suit_of_run(meld: Meld) -> int:
    """The suit of a run on the table."""
    return meld.cards.translate(None, _JOKERS)[0] // 13


def card_at(suit: int, position: int) -> int:
    """The natural that belongs at a position of a run in the suit."""
    return suit * 13 + (position - 1) % 13


def _as_set(rules: RuleSet, cards: bytes) -> Reading | None:
    naturals = cards.translate(None, _JOKERS)
    if not naturals or len(cards) < rules.set_min:
        return None
    rank = naturals[0] % 13 + 1
    return Reading(MeldKind.SET, bytes(sorted(cards)), rank) if _fit_set(rules, cards, rank) else None


def _fit_set(rules: RuleSet, cards: bytes, rank: int) -> bool:
    """Whether the cards, of which one is a natural, are all of the rank and few and different enough."""
    naturals = cards.translate(None, _JOKERS)
    if len(cards) > set_limit(rules) or (rules.distinct_suits and len(set(naturals)) < len(naturals)):
        return False
    return not naturals.translate(None, _OF_RANK[rank - 1])


def _as_runs(rules: RuleSet, cards: bytes) -> list[Reading]:
    """The cards as a run; two ways only for all thirteen naturals of a suit, the ace low or high, out of order."""
    naturals = cards.translate(None, _JOKERS)
    size, top = len(cards), highest(rules)
    ranks = _ranks(naturals, naturals[0] // 13) if naturals and rules.run_min <= size <= 13 else None
    if ranks is None:
        return []
    if len(naturals) == size:
        lows = {_lowest(ranks), _lowest(ranks & ~2)}  # an ace lies below the others, or above
    else:
        index = cards.index(naturals[0])
        rank = cards[index] % 13 + 1
        lows = {rank - index, 14 - index} if rank == 1 else {rank - index}
    found = []
    for low in sorted(lows):
        high = low + size - 1
        if low >= 1 and high <= top:
            run = _fill(naturals[0] // 13, ranks, low, high)
            if run == cards:
                return [Reading(MeldKind.RUN, run, low)]
            if len(naturals) == size and JOKER not in run:
                found.append(Reading(MeldKind.RUN, run, low))
    return found


def _ranks(naturals: bytes, suit: int) -> int | None:
    """The ranks of the naturals as bits 1-13, or None where one is of another suit or two are equal."""
    if naturals.translate(None, _OF_SUIT[suit]):
        return None
    ranks = 0
    for card in naturals:
        ranks |= 2 << card % 13
    return ranks if ranks.bit_count() == len(naturals) else None


def _lowest(mask: int) -> int:
    """The lowest bit's number."""
    return (mask & -mask).bit_length() - 1


def _span(low: int, high: int) -> int:
    """The bits from low to high, both included; none where high is low - 1."""
    return (2 << high) - (1 << low)


def _fill(suit: int, ranks: int, low: int, high: int) -> bytes:
    """The places from low to high, each with its natural where `ranks` has it, else with a joker."""
    lacking = _span(low, high) & ~(ranks | ranks << 13)  # an ace may sit at 14, too; no span holds both 1 and 14
    cards = bytearray(_PLACES[suit][low - 1 : high])
    while lacking:
        place = _lowest(lacking)
        cards[place - low] = JOKER
        lacking ^= 1 << place
    return bytes(cards)


_JOKERS = bytes([JOKER])
_OF_RANK = [bytes(range(rank, JOKER, 13)) for rank in range(13)]
_OF_SUIT = [bytes(range(13 * suit, 13 * suit + 13)) for suit in range(4)]
_PLACES = [cards + cards[:1] for cards in _OF_SUIT]
"""The naturals of each suit at the positions 1-14."""
