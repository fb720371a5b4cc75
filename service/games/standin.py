"""Plays for a seat whose player has left: draws, and discards what counts most against it.

It never fouls, and lays cards down only where it must, or where the others could not play unless it does.
"""

from engine.actions import Action, Discard, Draw, LayDown, Pass
from engine.cards import JOKER
from engine.legal import legal_actions
from engine.rules import OpeningOrder, RuleSet
from engine.scoring import card_points
from engine.state import State
from engine.view import summary

__all__ = ["choose"]


def choose(match: State) -> Action:
    """The next action of the seat to move; it is legal."""
    seat = match.turn
    options = summary(match, seat)
    if options.may_draw:
        return Draw()
    if options.may_lay_down and _awaited(match):
        return next(action for action in legal_actions(match, seat) if isinstance(action, LayDown))
    if options.discards:
        return Discard(max(options.discards, key=lambda card: _weight(match.rules, card)))
    if options.may_pass:
        return Pass()
    return next(legal_actions(match, seat))


def _awaited(match: State) -> bool:
    """Whether nobody may lay down before somebody has knocked: then bots knock as soon as they can (P14)."""
    return match.rules.opening_order is OpeningOrder.FIRST_PLAYER and not match.knocked


def _weight(rules: RuleSet, card: int) -> tuple[bool, int]:
    """Naturals before jokers, which would serve the others best; then by what the card counts in a hand."""
    return card != JOKER, card_points(rules, card)
