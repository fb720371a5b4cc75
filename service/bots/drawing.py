"""Whether to take from the discard pile rather than from the stock."""

from collections.abc import Sequence
from typing import Final

from engine.actions import Take
from engine.cards import put_in
from engine.rules import RuleSet, Scoring
from engine.solver import Effort
from engine.view import View
from service.bots.arranging import worth

__all__ = ["worth_taking"]

_LEAST: Final = 1_000
"""With less effort no take is looked at any more: what little it finds would say nothing."""


def worth_taking(view: View, hand: bytes, depths: Sequence[int], effort: Effort) -> Take | None:
    """The take that makes the hand best, if it is better than a card from the stock may be hoped to make it.

    Deep takes, each of which costs a look at all the hand, are looked at as far as the effort goes.
    """
    found, most = None, worth(view, hand, effort) + _hope(view.rules)
    for depth in depths:
        if effort.left < _LEAST:
            break
        gained = worth(view, put_in(hand, view.pile[-depth:]), effort)
        if gained > most:
            found, most = Take(depth), gained
    return found


def _hope(rules: RuleSet) -> int:
    """What a card from the stock is worth on average, since it may fit as well: little."""
    return 4 if rules.scoring is Scoring.MELDS else 0
