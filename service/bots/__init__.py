"""How a bot plays: from the view of its seat, which is all that a player there would know.

    action = choose(view, legal)

It lays down what it can at once, keeps what the best arrangement of its hand leaves least of, takes from the discard
pile what makes that better at once, and gives away what is worth least to it. It knocks as soon as it can (P14).
"""

from collections.abc import Callable, Iterable

from engine.actions import Action, Discard, Draw, LayDown, LayOff, Pass, SwapJoker
from engine.cards import JOKER, put_in, take_out
from engine.view import Summary, View
from service.bots.arranging import arranged
from service.bots.discarding import least_loss
from service.bots.drawing import worth_taking

__all__ = ["choose"]


def choose(view: View, legal: Callable[[], Iterable[Action]]) -> Action:
    """The next action of the seat to move, whose view has options; it is legal, and never a foul.

    `legal` lists the seat's legal actions; it is asked only where the options do not say enough.
    """
    options = view.options
    if options is None or view.seat is None:
        raise ValueError("a bot is asked in its own turn, with the view of its own seat")
    hand = view.seats[view.seat].hand or b""
    if _is_drawing(options):
        take = worth_taking(view, hand, options.takes)
        if take is not None:
            return take
        return Draw() if options.may_draw else Pass() if options.may_pass else next(iter(legal()))
    return _lay(view, options, hand, legal) or _end(view, options, hand, legal)


def _is_drawing(options: Summary) -> bool:
    """Whether the turn begins: only then the stock or the pile is open, or one passes with all other ways shut."""
    lays = options.may_lay_down or options.lay_offs or options.may_lay_off_several or options.swaps
    return bool(options.may_draw or options.takes) or (options.may_pass and not lays and not options.discards)


def _lay(view: View, options: Summary, hand: bytes, legal: Callable[[], Iterable[Action]]) -> Action | None:
    """What to lay on the table next; None: nothing."""
    if view.owed is not None or view.owed_jokers:
        return _pay(view, legal)
    swap = _swap(view, options, hand)
    if swap is not None:
        return swap
    for action in arranged(view, hand).actions:
        if options.may_lay_down if isinstance(action, LayDown) else options.lay_offs:
            return action
    return None


def _pay(view: View, legal: Callable[[], Iterable[Action]]) -> Action | None:
    """The lay that uses what has to be used in this turn, with as many cards as possible (F10, B7)."""
    lays = [action for action in legal() if isinstance(action, LayDown | LayOff)]
    if not lays:
        return None
    return max(lays, key=lambda lay: (view.owed is None or view.owed in lay.cards, len(lay.cards)))


def _swap(view: View, options: Summary, hand: bytes) -> SwapJoker | None:
    """The joker on the table that would leave least in the hand, if one would leave less than now."""
    least, found = arranged(view, hand).points, None
    for place in options.swaps:
        points = arranged(view, put_in(take_out(hand, [place.card]), [JOKER])).points
        if points < least:
            least, found = points, SwapJoker(place.meld, place.card)
    return found


def _end(view: View, options: Summary, hand: bytes, legal: Callable[[], Iterable[Action]]) -> Action:
    """The end of the turn."""
    if options.discards:
        return Discard(least_loss(view, hand, options.discards))
    return Pass() if options.may_pass else next(iter(legal()))
