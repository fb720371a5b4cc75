"""Jokers that were swapped into a hand: whether all of them can be played in the same turn (B7, `same_turn`).

What lies where decides that, and not in which order it came there: swaps of the same jokers lead to the same place in
any order, and so do the same new melds. So each place is looked at once, and the answers for those seen last are kept.
"""

from collections.abc import Iterator
from functools import lru_cache

from engine.cards import JOKER, put_in, take_out
from engine.listing import all_extensions, all_melds
from engine.melds import extended, may_lay_off, swap_place, swapped
from engine.rules import GoOut, RuleSet
from engine.state import Meld

__all__ = ["can_settle"]


def can_settle(rules: RuleSet, seat: int, hand: bytes, table: tuple[Meld, ...], owed: int) -> bool:
    """Whether the seat can play so many jokers out of its hand, by lays and by further swaps; laying down is open."""
    return not owed or _can_settle(rules, seat, hand, tuple(sorted(table, key=_order)), owed)


@lru_cache(maxsize=4096)
def _can_settle(rules: RuleSet, seat: int, hand: bytes, table: tuple[Meld, ...], owed: int) -> bool:
    kept = int(rules.go_out is GoOut.DISCARD)  # a last card for the discard (B4)
    return any(
        len(left) >= kept and can_settle(rules, seat, left, then, still)
        for left, then, still in _steps(rules, seat, hand, table, owed)
    )


def _steps(
    rules: RuleSet, seat: int, hand: bytes, table: tuple[Meld, ...], owed: int
) -> Iterator[tuple[bytes, tuple[Meld, ...], int]]:
    """The hand, the table and the jokers owed after each lay of a joker, and after each swap.

    A swap may bring what is missing: two jokers and a natural are a meld where one and two are none.
    """
    for kind, cards, low in all_melds(rules, hand, JOKER):
        new = Meld(kind, cards, bytes([seat] * len(cards)), seat, low)
        yield take_out(hand, cards), (*table, new), max(0, owed - cards.count(JOKER))
    for index, meld in enumerate(table):
        others = (*table[:index], *table[index + 1 :])
        if may_lay_off(rules, seat, meld):
            for way in all_extensions(rules, meld, hand):
                cards = way.low + way.high
                if JOKER in cards:
                    still = max(0, owed - cards.count(JOKER))
                    yield take_out(hand, cards), (*others, extended(meld, way, seat)), still
        for card in sorted(set(hand)):
            place = swap_place(rules, meld, card)
            if place is not None:
                got = put_in(take_out(hand, [card]), [JOKER])
                yield got, (*others, swapped(meld, place, card, seat)), owed + 1


def _order(meld: Meld) -> tuple[str, bytes, bytes, int, int]:
    return meld.kind, meld.cards, meld.owners, meld.founder, meld.low
