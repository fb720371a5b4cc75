"""What hope a card of the hand has of being laid: how many cards to come would make a meld of it.

A meld comes together from the hand, from cards that nobody has seen yet and, where any card of the pile may be taken,
from the pile: a card that lies there is a card that one may still have.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

from engine.melds import highest
from engine.rules import DiscardDraw, RuleSet, packs_for
from engine.solver import Effort
from engine.view import View

__all__ = ["Sight", "hopes", "sight"]

_IN_THE_PILE: Final = 0.5
"""What a meld with cards of the pile counts beside one of the hand's alone: others may take them first."""

_COMPLETE: Final = 6
"""As how many cards to come it counts that none is missing: hand and pile hold the rest of a meld."""


_A_MATE: Final = 5
"""Steps that it takes to look for one card of a company."""


class Sight(NamedTuple):
    """Where the cards are, as far as a seat can see, each natural counted."""

    rules: RuleSet
    hand: Counter[int]
    pile: Counter[int]
    """What of the pile may be taken in a turn to come."""
    hidden: Counter[int]
    """What nobody has shown: it lies in the stock or in another's hand."""


def sight(view: View, hand: bytes) -> Sight:
    """What the seat of the view sees with that hand."""
    hidden = Counter({card: packs_for(view.rules, len(view.seats)) for card in range(52)})
    for shown in (hand, view.pile, *(meld.cards for meld in view.melds)):
        hidden.subtract(shown)
    pile = view.pile if view.rules.discard_draw is DiscardDraw.ANY else b""
    return Sight(view.rules, Counter(hand), Counter(pile), +hidden)


def hopes(sight: Sight, card: int, effort: Effort) -> float:
    """How many of the hidden cards would make a smallest meld of this natural of the hand and others.

    As far as the effort goes: large sets can be had in hundreds of ways.
    """
    found = 0.0
    for others in _companies(sight, card):
        if not effort.spend(_A_MATE * len(others)):
            break
        found += _hope(sight, card, others)
    return found


def _hope(sight: Sight, card: int, others: tuple[int, ...]) -> float:
    missing, piled = list[int](), False
    for other, count in Counter(others).items():
        short = count - (sight.hand[other] - (other == card))
        from_pile = min(short, sight.pile[other]) if short > 0 else 0
        piled = piled or from_pile > 0
        missing += [other] * (short - from_pile)
    if len(missing) > 1 or not (missing or piled):
        return 0.0
    return (sight.hidden[missing[0]] if missing else _COMPLETE) * (_IN_THE_PILE if piled else 1.0)


def _companies(sight: Sight, card: int) -> Iterator[tuple[int, ...]]:
    """The naturals that make a smallest meld together with the card: each set's, then each run's (B5, F2, F3).

    Sets of which more than one card is missing in any case are left out: a large one can be had in hundreds of ways.
    """
    rules, (suit, rank) = sight.rules, divmod(card, 13)
    equals = range(rank, 52, 13)
    if sum(sight.hand[other] + sight.pile[other] for other in equals) >= rules.set_min - 1:
        if rules.distinct_suits:
            yield from combinations([other for other in equals if other != card], rules.set_min - 1)
        else:
            yield from combinations_with_replacement(equals, rules.set_min - 1)
    for low in range(highest(rules) + 1 - rules.run_min):
        run = [suit * 13 + place % 13 for place in range(low, low + rules.run_min)]
        if card in run:
            run.remove(card)
            yield tuple(run)
