"""Which card to give away."""

from collections import Counter
from typing import Final

from engine.cards import JOKER
from engine.rules import RuleSet, Scoring
from engine.scoring import card_points
from engine.solver import Effort
from engine.view import View
from service.bots.arranging import arranged
from service.bots.hopes import hopes, sight

__all__ = ["least_loss"]

_POINTS_A_HOPE: Final = 5.0
"""What one more card that would make a meld is worth, in points of the hand."""


def least_loss(view: View, hand: bytes, discards: bytes, effort: Effort) -> int:
    """The card, one of `discards`, that the hand misses least; what hopes there are is left aside without effort."""
    seen, spare = sight(view, hand), Counter(arranged(view, hand, effort).deadwood)
    hoped = {card: hopes(seen, card, effort) for card in discards if card != JOKER}
    if effort.spent:
        hoped = {}  # those that were looked at first would have an advantage
    return max(discards, key=lambda card: _gladness(seen.rules, card, hoped.get(card, 0.0), spare=spare[card] > 0))


def _gladness(rules: RuleSet, card: int, hopes: float, *, spare: bool) -> tuple[bool, bool, float]:
    """How gladly a card is given away: no joker, none that is about to be laid, then by its points and its hopes.

    Where laid cards count, a card of many points is one to keep: it brings them once it is laid.
    """
    points = float(card_points(rules, card))
    if rules.scoring is Scoring.MELDS:
        points = -points
    return card != JOKER, spare, points - _POINTS_A_HOPE * hopes
