"""The best arrangement of a hand: what to lay down and lay off so that least is left, or most is shown.

    arrangement = best(rules, hand, table, seat=0)
    arrangement.actions     lay-downs, then lay-offs: in a seat's turn each is legal after those before it

The answer is exact, within the effort that it is given: of all ways to lay any of the cards, as melds of the rule set
and on the melds of the table that the seat may add to, each joker for one card, none leaves less (or shows more).
A joker on the table that could be swapped stays where it lies.

`cores` lists the naturals of every meld and lay-off, with the jokers that each needs and has room for; `choice` puts
these as numbers; `search` finds the best of them; `arrange` puts the jokers in their places. What they do is counted as
`effort`, and they make do with less where it is spent.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from engine.actions import LayDown, LayOff
from engine.cards import take_out
from engine.rules import RuleSet
from engine.scoring import hand_points
from engine.solver.arrange import actions_of
from engine.solver.choice import Objective, chosen
from engine.solver.cores import held_of, open_melds
from engine.solver.effort import Effort
from engine.state import Meld

__all__ = ["Arrangement", "Effort", "Objective", "best"]

_A_CARD: Final = 10
"""Steps that a card of the hand takes in any case."""


class Arrangement(NamedTuple):
    """What to lay of a hand, and what is left of it."""

    actions: tuple[LayDown | LayOff, ...]
    """New melds, then lay-offs, each legal after those before it in a turn in which the seat may lay down."""
    deadwood: bytes
    """The cards left in the hand, sorted."""
    points: int
    """What the deadwood counts (B10, F4, P17), three of a rank as one card where the rules have it so (P9)."""


def best(
    rules: RuleSet,
    hand: bytes,
    table: Sequence[Meld] = (),
    *,
    seat: int = 0,
    objective: Objective = Objective.LEAST_DEADWOOD,
    effort: Effort | None = None,
) -> Arrangement:
    """The best that the seat can lay of the hand: in melds, and on the table (B5, B6, B7, F2, F11, P8).

    Of equally good arrangements one that leaves the fewest cards. Where a seat goes out by a discard only, a card is
    left for it (B4). `effort` bounds the work (None: not at all): a hand that takes more, as one of dozens of cards and
    many jokers may, is arranged legally, but perhaps not best; where nothing is left to begin with, nothing is laid.
    Whether laying down is open yet (P14), and a card that must be used first (F10), are left aside.
    """
    effort = effort or Effort()
    if effort.spent:
        return Arrangement((), bytes(sorted(hand)), hand_points(rules, hand))
    effort.spend(_A_CARD * len(hand))
    held, melds = held_of(rules, hand), open_melds(rules, table, seat)
    actions = actions_of(rules, chosen(rules, held, melds, objective, effort), held.jokers, melds)
    deadwood = take_out(bytes(sorted(hand)), b"".join(action.cards for action in actions))
    return Arrangement(actions, deadwood, hand_points(rules, deadwood))
