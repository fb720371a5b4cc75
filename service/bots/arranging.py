"""What to lay of a hand, and what that is worth, in the game that is played."""

from engine.rules import Scoring
from engine.scoring import card_points
from engine.solver import Arrangement, Effort, Objective, best
from engine.view import View

__all__ = ["arranged", "worth"]


def arranged(view: View, hand: bytes, effort: Effort) -> Arrangement:
    """The best that the seat can lay of the hand: what shows most where laid cards count, else what leaves least.

    It takes a third of the effort at most, so that some is left for whatever comes after it.
    """
    counted = view.rules.scoring is Scoring.MELDS
    objective = Objective.MOST_MELDED if counted else Objective.LEAST_DEADWOOD
    return best(view.rules, hand, view.melds, seat=view.seat or 0, objective=objective, effort=effort.part(3))


def worth(view: View, hand: bytes, effort: Effort) -> int:
    """What the hand is worth, in points, when all is laid that can be.

    Where laid cards count, their points: what is left may be laid later. Else what is left counts against it.
    """
    found = arranged(view, hand, effort)
    if view.rules.scoring is not Scoring.MELDS:
        return -found.points
    return sum(card_points(view.rules, card) for action in found.actions for card in action.cards)
