"""Which card to give away."""

from collections import Counter
from typing import Final

from engine.cards import JOKER
from engine.melds import highest
from engine.rules import Scoring
from engine.scoring import card_points
from engine.solver import best
from engine.view import View

__all__ = ["least_loss"]


def least_loss(view: View, hand: bytes, discards: bytes) -> int:
    """The card, one of `discards`, that the hand misses least."""
    kept = Counter(hand) - Counter(best(view.rules, hand, view.melds, seat=view.seat or 0).deadwood)
    return max(discards, key=lambda card: _gladness(view, hand, card, Counter(hand)[card] > kept[card]))


_POINTS_A_CHANCE: Final = 5.0
"""What one more card that would complete a meld is worth, in points of deadwood."""


_POINTS_TO_COME: Final = -0.3
"""What a point in the hand weighs where laid cards count: it is worth more once laid than it costs in the hand."""


def _gladness(view: View, hand: bytes, card: int, spare: bool) -> tuple[bool, bool, float]:
    """How gladly a card is given away: no joker, none that is about to be laid, then by its points and its hopes."""
    points = card_points(view.rules, card) * (_POINTS_TO_COME if view.rules.scoring is Scoring.MELDS else 1.0)
    if card == JOKER:
        return False, spare, points
    return True, spare, points - _POINTS_A_CHANCE * _chances(view, hand, card)


def _chances(view: View, hand: bytes, card: int) -> float:
    """How many cards that may still come would make a meld of this one and another of the hand."""
    seen = Counter(hand) + Counter(view.pile)
    for meld in view.melds:
        seen.update(meld.cards)
    packs = view.rules.packs or 1
    rest = Counter(hand)
    rest[card] -= 1

    def left(other: int) -> int:
        return max(0, packs - seen[other])

    suit, rank = divmod(card, 13)
    mates = [
        other for other in range(rank, 52, 13) if rest[other] and not (view.rules.distinct_suits and other == card)
    ]
    wanted = set(range(rank, 52, 13)) - ({card, *mates} if view.rules.distinct_suits else set())
    found = float(sum(left(other) for other in wanted) if mates else 0)
    for low in range(max(0, rank - 2), rank + 1):
        places = range(low, low + 3)
        if places[-1] >= highest(view.rules):
            continue
        cards = [suit * 13 + place % 13 for place in places]
        missing = [other for other in cards if other != card and not rest[other]]
        if len(missing) == 1:
            found += left(missing[0])
    return found
