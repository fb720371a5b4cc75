"""Plays for a seat whose player has left:

draws, and discards what costs it most. It never lays down and never fouls.
"""

from engine.actions import Action, Discard, Draw, Pass
from engine.cards import JOKER, rank_of
from engine.legal import legal_actions
from engine.state import State
from engine.view import view

__all__ = ["choose"]


def choose(match: State) -> Action:
    """The next action of the seat to move.

    Anything else than a draw, a pass or a discard only where no such is legal.
    """
    options = view(match, match.turn).options
    if options is None:
        raise AssertionError("the seat to move has options")
    if options.may_draw:
        return Draw()
    if options.discards:
        return Discard(max(options.discards, key=_dearness))
    if options.may_pass:
        return Pass()
    return next(iter(legal_actions(match, match.turn)))


def _dearness(card: int) -> tuple[bool, int]:
    """Naturals before jokers, which others could use best; then by rank."""
    return card != JOKER, rank_of(card)
