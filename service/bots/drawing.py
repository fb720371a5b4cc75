"""Whether to take from the discard pile rather than from the stock."""

from collections.abc import Sequence
from typing import Final

from engine.actions import Take
from engine.cards import put_in
from engine.rules import RuleSet, Scoring
from engine.view import View
from service.bots.arranging import worth

__all__ = ["worth_taking"]

_DEEPEST: Final = 40
"""Deeper takes are not looked at: each costs a look at all the hand."""


def worth_taking(view: View, hand: bytes, depths: Sequence[int]) -> Take | None:
    """The take that makes the hand best, if it is better than a card from the stock may be hoped to make it."""
    found, most = None, worth(view, hand) + _hope(view.rules)
    for depth in depths[:_DEEPEST]:
        gained = worth(view, put_in(hand, view.pile[-depth:]))
        if gained > most:
            found, most = Take(depth), gained
    return found


def _hope(rules: RuleSet) -> int:
    """What a card from the stock is worth on average, since it may fit as well: little."""
    return 4 if rules.scoring is Scoring.MELDS else 0
