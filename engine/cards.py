"""Cards as small ints, hands and piles as bytes.

A natural is `suit * 13 + rank - 1` with the suits in the order C D H S (0-3) and the ace as rank 1; a joker is 52.
Equal cards of two packs are the same int, so nothing can tell which copy moved. A *hand* is always kept sorted; a
*pile* keeps its order.
"""

from collections.abc import Iterable

__all__ = [
    "JOKER",
    "NO_CARD",
    "RANKS",
    "SUITS",
    "deck",
    "holds",
    "put_in",
    "rank_of",
    "suit_of",
    "take_out",
    "write_cards",
]

SUITS = "CDHS"
RANKS = "A23456789TJQK"
JOKER = 52
NO_CARD = 255  # where a byte may hold a card or none


def rank_of(card: int) -> int:
    """The rank of a natural, 1-13 with the ace as 1."""
    return card % 13 + 1


def suit_of(card: int) -> int:
    """The suit of a natural, 0-3 in the order C D H S; 4 for a joker."""
    return card // 13


def deck(packs: int, jokers: int) -> bytes:
    """All cards of so many 52-card packs and so many jokers, sorted."""
    return bytes(sorted([*range(52)] * packs + [JOKER] * jokers))


def put_in(hand: bytes, cards: Iterable[int]) -> bytes:
    """The hand with the cards added, sorted again."""
    return bytes(sorted((*hand, *cards)))


def take_out(hand: bytes, cards: Iterable[int]) -> bytes:
    """The hand without the cards; the hand must hold them."""
    left = bytearray(hand)
    for card in cards:
        left.remove(card)
    return bytes(left)


def holds(hand: bytes, cards: bytes) -> bool:
    """Whether the hand holds each of the cards, equal cards counted."""
    left = bytearray(hand)
    try:
        for card in cards:
            left.remove(card)
    except ValueError:
        return False
    return True


def write_cards(cards: Iterable[int]) -> str:
    """The cards in notation, in the order given: `AS TD JK`; the empty text for none."""
    return " ".join(_TEXTS[card] for card in cards)


_TEXTS = (*(rank + suit for suit in SUITS for rank in RANKS), "JK")
