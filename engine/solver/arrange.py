"""The chosen cores with their jokers, as actions."""

from collections.abc import Iterator, Sequence

from engine.actions import End, LayDown, LayOff, MeldKind
from engine.cards import JOKER
from engine.melds import Extension, card_at, extended, extensions, highest, readings, suit_of_run
from engine.rules import RuleSet
from engine.solver.choice import Choice
from engine.solver.cores import Core, OpenMeld
from engine.state import Meld

__all__ = ["actions_of"]


def actions_of(rules: RuleSet, choice: Choice, jokers: int, table: Sequence[OpenMeld]) -> tuple[LayDown | LayOff, ...]:
    """New melds, then lay-offs, each legal after those before it; as many jokers are laid as the choice has it."""
    spare = jokers - choice.jokers_left - sum(core.need for core in choice.cores)
    melds = {open_.onto: open_.meld for open_ in table}
    used = {core.onto for core in choice.cores}
    rest = [Core(open_.meld.kind, b"", (), 0, open_.room, open_.onto) for open_ in table if open_.onto not in used]
    downs: list[LayDown | LayOff] = []
    offs: list[LayDown | LayOff] = []
    for core in (*choice.cores, *rest):
        more = min(spare, core.room - core.need)
        spare -= more
        if core.onto is None:
            downs.append(_new(rules, core, core.need + more))
        elif core.cards or more:
            offs += _laid_off(rules, core, core.onto, melds[core.onto], more)
    return (*downs, *offs)


def _new(rules: RuleSet, core: Core, jokers: int) -> LayDown:
    if core.kind is MeldKind.SET:
        cards = core.cards + _JOKERS * jokers
    else:
        first, last = core.places[0], core.places[-1]
        more = jokers - (last + 1 - first - len(core.places))
        low, high = _stretched(rules, first, last, more)
        suit = core.cards[0] // 13
        cards = _filled(suit, core.places, range(low, high + 1))
    return LayDown(cards, core.kind if len(readings(rules, cards)) > 1 else None)


def _laid_off(rules: RuleSet, core: Core, index: int, meld: Meld, jokers: int) -> Iterator[LayOff]:
    """The lay-off, end by end; `jokers` are those beyond the ones that fill gaps."""
    if meld.kind is MeldKind.SET:
        yield LayOff(index, core.cards + _JOKERS * jokers)
        return
    first, last, suit = meld.low, meld.low + len(meld.cards) - 1, suit_of_run(meld)
    low, high = _stretched(rules, min((first, *core.places)), max((last, *core.places)), jokers)
    for end, span in ((End.LOW, range(low, first)), (End.HIGH, range(last + 1, high + 1))):
        if span:
            cards = _filled(suit, core.places, span)
            yield LayOff(index, cards, end if len(extensions(rules, meld, cards)) > 1 else None)
            meld = extended(meld, Extension(cards, b"") if end is End.LOW else Extension(b"", cards), meld.founder)


def _stretched(rules: RuleSet, low: int, high: int, more: int) -> tuple[int, int]:
    """The ends of a run with so many more places, above it as far as that goes.

    No ace comes to lie at both ends: a core's room is such that the run has at most 13 places.
    """
    up = min(more, highest(rules) - high)
    return low - (more - up), high + up


def _filled(suit: int, places: Sequence[int], span: range) -> bytes:
    """The places of the span, each with its natural if it is among `places`, else with a joker."""
    return bytes(card_at(suit, place) if place in places else JOKER for place in span)


_JOKERS = bytes([JOKER])
