"""Whether a rule set can be played: every fault at once, by field."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import fields, replace

from engine.errors import BadRules, Fault
from engine.presets import PRESETS
from engine.rules import DiscardDraw, Discarding, GoOut, RuleSet, Scoring, Settlement, hand_size_for, packs_for

__all__ = ["complete", "faults"]


def complete(preset: str, overrides: Mapping[str, object]) -> RuleSet:
    """The preset with some fields overridden (JSON values). Whether it can be played is for `faults` to say.

    Raises BadRules where the preset or a field is unknown or a value is of a wrong type; it then names the faults of
    the remaining fields, too.
    """
    base = PRESETS.get(preset)
    if base is None:
        raise BadRules([Fault("preset", "UNKNOWN", f"no preset {preset!r}; there are {', '.join(PRESETS)}")])
    values: dict[str, object] = {}
    found = []
    for field, value in overrides.items():
        try:
            values[field] = msgspec.convert(value, _TYPES[field])
        except KeyError:
            found.append(Fault(field, "UNKNOWN", "no such field in a rule set"))
        except msgspec.ValidationError as error:
            found.append(Fault(field, "WRONG_TYPE", str(error)))
    rules = replace(base, **values)
    if found:
        raise BadRules(found + faults(rules))
    return rules


def faults(rules: RuleSet, seats: int | None = None) -> list[Fault]:
    """Everything that keeps the rule set from being played: by so many players, or by any number that it admits."""
    found = [*_ranges(rules), *_seats(rules, seats)]
    if _DEALING.isdisjoint(fault.field for fault in found):
        found += _cards(rules, seats)
        found += _melds(rules, seats)
    return [*found, *_shapes(rules), *_ends(rules), *_turns(rules), *_scoring(rules)]


def _ranges(rules: RuleSet) -> Iterator[Fault]:
    for field, (least, most) in _RANGES.items():
        value = getattr(rules, field)
        if value is not None and not least <= value <= most:
            yield Fault(field, "OUT_OF_RANGE", f"{value} is not within {least}-{most}")


def _seats(rules: RuleSet, seats: int | None) -> Iterator[Fault]:
    least, most = rules.seats
    if not 2 <= least <= most <= 8:
        yield Fault("seats", "OUT_OF_RANGE", f"{least}-{most} is no range within 2-8")
    elif seats is not None and not least <= seats <= most:
        yield Fault("seats", "OUT_OF_RANGE", f"{seats} players, where {least}-{most} may play")


def _cards(rules: RuleSet, seats: int | None) -> Iterator[Fault]:
    """More cards dealt, opening draws included, than the pack holds, or none left to draw.

    The first number of players that shows it is told. Without a card to draw no turn might be taken in any deal.
    """
    for players in _players(rules, seats):
        held = packs_for(rules, players) * 52 + rules.jokers
        opening = sum(range(rules.opening_draw, rules.opening_draw + players)) if rules.opening_draw else 0
        dealt = players * hand_size_for(rules, players) + rules.up_card + opening
        if dealt > held:
            text = f"{players} players are dealt {dealt} cards, opening draws included, of a pack of {held}"
            yield Fault("hand_size", "TOO_MANY_CARDS", text)
            return
        if dealt == held and not opening:
            text = f"{players} players are dealt all {held} cards of the pack: none is left to draw"
            yield Fault("hand_size", "TOO_MANY_CARDS", text)
            return


def _melds(rules: RuleSet, seats: int | None) -> Iterator[Fault]:
    """No end by points, where no seat can ever hold a meld: nobody goes out then, and nobody shows a card (G8).

    Where every turn ends with a discard, and at most one card of the pile is taken, a hand does not grow.
    """
    if rules.deals or rules.discard is Discarding.OPTIONAL or rules.discard_draw is DiscardDraw.ANY:
        return
    for players in _players(rules, seats):
        of_a_rank = 4 if rules.distinct_suits else 4 * packs_for(rules, players) + rules.jokers
        smallest = min(rules.run_min, rules.set_min if rules.set_min <= of_a_rank else rules.run_min)
        needed = smallest + (rules.go_out is GoOut.DISCARD)
        held = hand_size_for(rules, players) + max(1, rules.opening_draw and rules.opening_draw + players - 1)
        if held < needed:
            text = f"the match has no end: deals is 0, and of {players} players each holds {held} cards at the most"
            yield Fault("hand_size", "NO_END", f"{text}, where a meld takes {needed}")
            return


def _players(rules: RuleSet, seats: int | None) -> Iterable[int]:
    """The numbers of players to judge: the one that is asked for, or all that the rule set admits."""
    return range(rules.seats[0], rules.seats[1] + 1) if seats is None else (seats,)


def _shapes(rules: RuleSet) -> Iterator[Fault]:
    if rules.set_max and rules.set_max < rules.set_min:
        yield Fault("set_max", "CONFLICT", f"{rules.set_max} is less than set_min, {rules.set_min}")
    if rules.distinct_suits and rules.set_min > 4:
        yield Fault("set_min", "CONFLICT", f"{rules.set_min} cards of one rank cannot be of different suits")


def _ends(rules: RuleSet) -> Iterator[Fault]:
    if not rules.target and not rules.deals:
        yield Fault("target", "NO_END", "the match has no end: target and deals are both 0")
    takes_cost_nothing = rules.discard_draw is not DiscardDraw.NONE and (not rules.use_taken or rules.top_free)
    if takes_cost_nothing and not rules.idle_limit and not rules.round_limit:
        text = "a deal may have no end: cards can go to and fro over the pile, and idle_limit and round_limit are 0"
        yield Fault("idle_limit", "NO_END", text)


def _turns(rules: RuleSet) -> Iterator[Fault]:
    if rules.discard_draw is DiscardDraw.NONE and rules.use_taken:
        yield Fault("use_taken", "CONFLICT", "nothing may be taken from the discard pile (discard_draw)")
    if rules.go_out is GoOut.DISCARD and rules.discard is Discarding.OPTIONAL:
        yield Fault("go_out", "CONFLICT", "a final discard is asked for where discards are optional (discard)")


def _scoring(rules: RuleSet) -> Iterator[Fault]:
    if rules.scoring is Scoring.POOL:
        for field in ("stake", "carry_over", "one_winner"):
            if getattr(rules, field) is None:
                yield Fault(field, "MISSING", "pool scoring needs it")
        if rules.out_at_once != 1:
            yield Fault("out_at_once", "CONFLICT", "a pool is not multiplied")
    if rules.settlement is Settlement.PAY_WINNER and (rules.scoring is not Scoring.HANDS or rules.finish_round):
        text = "needs one winner to whom the others pay: scoring hands, and finish_round false"
        yield Fault("settlement", "CONFLICT", text)


_TYPES = {field.name: field.type for field in fields(RuleSet)}
_DEALING = frozenset({"seats", "packs", "jokers", "hand_size", "opening_draw"})  # what hands are counted by
_RANGES = {
    "packs": (1, 4),
    "jokers": (0, 8),
    "hand_size": (1, 52),
    "opening_draw": (0, 26),
    "set_min": (2, 13),
    "set_max": (0, 24),
    "run_min": (2, 13),
    "turn_over_limit": (0, 100),
    "idle_limit": (0, 1000),
    "round_limit": (0, 1000),
    "court_points": (0, 1000),
    "joker_points": (0, 1000),
    "stake": (0, 100_000),
    "out_at_once": (1, 10),
    "target": (0, 1_000_000),
    "deals": (0, 10_000),
}
