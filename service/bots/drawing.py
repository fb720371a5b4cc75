"""Whether to take from the discard pile rather than from the stock."""

from collections.abc import Sequence
from typing import Final

from engine.actions import Take
from engine.rules import RuleSet, Scoring
from engine.scoring import card_points
from engine.solver import Objective, best
from engine.view import View

__all__ = ["worth_taking"]

_DEEPEST: Final = 40
"""Deeper takes are not looked at: each costs a look at all the hand."""


def worth_taking(view: View, hand: bytes, depths: Sequence[int]) -> Take | None:
    """The take that makes the hand best, if it is better than a card from the stock may be hoped to make it."""
    now = _worth(view, hand)
    found, most = None, now + _hope(view.rules)
    for depth in depths[:_DEEPEST]:
        worth = _worth(view, bytes(sorted(hand + view.pile[-depth:])))
        if worth > most:
            found, most = Take(depth), worth
    return found


def _worth(view: View, hand: bytes) -> int:
    """What the hand is worth when all is laid that can be.

    Where laid cards count, their points: what is left may be laid later. Else what is left counts against it.
    """
    rules = view.rules
    if rules.scoring is not Scoring.MELDS:
        return -best(rules, hand, view.melds, seat=view.seat or 0).points
    found = best(rules, hand, view.melds, seat=view.seat or 0, objective=Objective.MOST_MELDED)
    return sum(card_points(rules, card) for action in found.actions for card in action.cards)


def _hope(rules: RuleSet) -> int:
    """What a card from the stock is worth on average, since it may fit as well: little."""
    return 4 if rules.scoring is Scoring.MELDS else 0
