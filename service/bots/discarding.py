"""Which card to give away."""

from collections import Counter
from typing import Final

from engine.cards import JOKER
from engine.rules import Scoring
from engine.scoring import card_points
from engine.view import View
from service.bots.arranging import arranged
from service.bots.hopes import Sight, hopes, sight

__all__ = ["least_loss"]

_POINTS_A_HOPE: Final = 5.0
"""What one more card that would make a meld is worth, in points of the hand."""


def least_loss(view: View, hand: bytes, discards: bytes) -> int:
    """The card, one of `discards`, that the hand misses least."""
    seen, spare = sight(view, hand), Counter(arranged(view, hand).deadwood)
    return max(discards, key=lambda card: _gladness(seen, card, spare=spare[card] > 0))


def _gladness(seen: Sight, card: int, *, spare: bool) -> tuple[bool, bool, float]:
    """How gladly a card is given away: no joker, none that is about to be laid, then by its points and its hopes.

    Where laid cards count, a card of many points is one to keep: it brings them once it is laid.
    """
    points = float(card_points(seen.rules, card))
    if seen.rules.scoring is Scoring.MELDS:
        points = -points
    if card == JOKER:
        return False, spare, points
    return True, spare, points - _POINTS_A_HOPE * hopes(seen, card)
