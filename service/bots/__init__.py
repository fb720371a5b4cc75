"""How a bot plays: from the view of its seat, which is all that a player there would know.

    action = choose(view, legal)

It lays down what it can at once, keeps what the best arrangement of its hand leaves least of, takes from the discard
pile what makes that better at once, and gives away what is worth least to it. It knocks as soon as it can (P14).
"""

from collections.abc import Callable, Iterable
from typing import Final

from engine.actions import Action, Discard, Draw, LayDown, LayOff, Pass, SwapJoker
from engine.cards import JOKER, put_in, take_out
from engine.solver import Effort
from engine.view import Summary, View
from service.bots.arranging import arranged
from service.bots.discarding import least_loss
from service.bots.drawing import worth_taking

__all__ = ["choose", "turns_effort"]

_STEPS: Final = 60_000
"""Some hundredths of a second: ten times what the longest turns of the presets take, and little of what house rules can
make of a hand. A server does nothing else meanwhile."""

_A_LAY: Final = 100
"""Steps that it takes to list a legal action."""


def turns_effort() -> Effort:
    """What the choices of a turn are worth, all together."""
    return Effort(_STEPS)


def choose(view: View, legal: Callable[[], Iterable[Action]], effort: Effort | None = None) -> Action:
    """The next action of the seat to move, whose view has options; it is legal, and never a foul.

    `legal` lists the seat's legal actions; it is asked only where the options do not say enough. When the effort (None:
    a turn's) is spent, the action is a plain one: a card is drawn or discarded, and nothing is laid that need not be.
    """
    options = view.options
    if options is None or view.seat is None:
        raise ValueError("a bot is asked in its own turn, with the view of its own seat")
    effort = effort or turns_effort()
    hand = view.seats[view.seat].hand or b""
    if _is_drawing(options):
        take = worth_taking(view, hand, options.takes, effort)
        if take is not None:
            return take
        return Draw() if options.may_draw else Pass() if options.may_pass else next(iter(legal()))
    if view.owed is not None or view.owed_jokers:
        return _payment(view, legal, effort) or _end(view, options, hand, legal, effort)
    return _lay(view, options, hand, effort) or _end(view, options, hand, legal, effort)


def _is_drawing(options: Summary) -> bool:
    """Whether the turn begins: only then the stock or the pile is open, or one passes with all other ways shut."""
    lays = options.may_lay_down or options.lay_offs or options.may_lay_off_several or options.swaps
    return bool(options.may_draw or options.takes) or (options.may_pass and not lays and not options.discards)


def _lay(view: View, options: Summary, hand: bytes, effort: Effort) -> Action | None:
    """What to lay on the table next; None: nothing."""
    now = arranged(view, hand, effort)
    least, swap = now.points, None
    for place in options.swaps:
        points = arranged(view, put_in(take_out(hand, [place.card]), [JOKER]), effort).points
        if points < least:
            least, swap = points, SwapJoker(place.meld, place.card)
    if swap is not None:
        return swap  # a joker on the table that leaves less in the hand than now, and the least of all
    for action in now.actions:
        if options.may_lay_down if isinstance(action, LayDown) else options.lay_offs:
            return action
    return None


def _payment(view: View, legal: Callable[[], Iterable[Action]], effort: Effort) -> Action | None:
    """The lay that uses what has to be used in this turn, with as many cards as possible (F10, B7).

    One of those that are listed first, where there are very many.
    """
    found: LayDown | LayOff | None = None
    for action in legal():
        if isinstance(action, LayDown | LayOff) and (found is None or _pays(view, action) > _pays(view, found)):
            found = action
        if not effort.spend(_A_LAY) and found:
            break
    return found


def _pays(view: View, lay: LayDown | LayOff) -> tuple[bool, int]:
    return view.owed is None or view.owed in lay.cards, len(lay.cards)


def _end(view: View, options: Summary, hand: bytes, legal: Callable[[], Iterable[Action]], effort: Effort) -> Action:
    """The end of the turn."""
    if options.discards:
        return Discard(least_loss(view, hand, options.discards, effort))
    return Pass() if options.may_pass else next(iter(legal()))
