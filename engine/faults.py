"""Whether a rule set can be played: every fault at once, by field."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, fields, replace

from engine.errors import BadRules, Fault
from engine.presets import PRESETS
from engine.rules import (
    DiscardDraw,
    Discarding,
    GoOut,
    LayOffs,
    RuleSet,
    Scoring,
    Settlement,
    hand_size_for,
    packs_for,
)

__all__ = ["SEATS", "as_sent", "complete", "faults", "wrong_values"]

SEATS = (2, 8)
"""Least and most players of any game."""


def complete(preset: str, overrides: Mapping[str, object]) -> RuleSet:
    """The preset with some fields overridden (JSON values). Whether it can be played is for `faults` to say.

    Raises BadRules where the preset or a field is unknown or a value is of a wrong type; it then names the faults of
    the remaining fields, too.
    """
    base = PRESETS.get(preset)
    if base is None:
        text = f"no preset {preset[:_MOST_ECHOED]!r}; there are {', '.join(PRESETS)}"
        raise BadRules([Fault("preset", "UNKNOWN", text), *wrong_values(overrides)])
    values, found = _read(overrides)
    rules = replace(base, **values)
    if found:
        raise BadRules(found + faults(rules))
    return rules


def wrong_values(overrides: Mapping[str, object]) -> list[Fault]:
    """What is wrong with single fields (JSON values), whatever the others are: name, type or range."""
    values, found = _read(overrides)
    return [*found, *_ranges(values)]


def faults(rules: RuleSet, seats: int | None = None) -> list[Fault]:
    """Everything that keeps the rule set from being played: by so many players, or by any number that it admits."""
    found = [*_ranges(asdict(rules)), *_seats(rules, seats)]
    beyond = {fault.field for fault in found}
    if _DEALING.isdisjoint(beyond):
        found += _cards(rules, seats)
        if _MELDING.isdisjoint(beyond):
            found += _melds(rules, seats)
    return [*found, *_shapes(rules), *_ends(rules), *_turns(rules), *_scoring(rules)]


def as_sent(found: Iterable[Fault], sent: Collection[str]) -> list[Fault]:
    """The same faults, each at a field that was sent, where one of those that conflict was."""
    blamed = ((fault, (field for field in (fault.field, *fault.others) if field in sent)) for fault in found)
    return [dataclasses.replace(fault, field=next(fields, fault.field)) for fault, fields in blamed]


def _read(overrides: Mapping[str, object]) -> tuple[dict[str, object], list[Fault]]:
    """The values of the fields that can be read, and the faults of the others."""
    values: dict[str, object] = {}
    found = []
    for field, value in overrides.items():
        try:
            values[field] = msgspec.convert(value, _TYPES[field])
        except KeyError:
            found.append(Fault(field, "UNKNOWN", "no such field in a rule set"))
        except msgspec.ValidationError as error:
            found.append(Fault(field, "WRONG_TYPE", str(error)))
    return values, found


def _ranges(values: Mapping[str, Any]) -> Iterator[Fault]:
    for field, (least, most) in _RANGES.items():
        value = values.get(field)
        if value is not None and not least <= value <= most:
            yield Fault(field, "OUT_OF_RANGE", f"{value} is not within {least}-{most}")
    least, most = values.get("seats", SEATS)
    if not SEATS[0] <= least <= most <= SEATS[1]:
        yield Fault("seats", "OUT_OF_RANGE", f"{least}-{most} is no range within {SEATS[0]}-{SEATS[1]}")


def _seats(rules: RuleSet, seats: int | None) -> Iterator[Fault]:
    least, most = rules.seats
    if seats is not None and SEATS[0] <= least <= most <= SEATS[1] and not least <= seats <= most:
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
            yield Fault("hand_size", "TOO_MANY_CARDS", text, _OF_DEALING)
            return
        if dealt == held and not opening:
            text = f"{players} players are dealt all {held} cards of the pack: none is left to draw"
            yield Fault("hand_size", "TOO_MANY_CARDS", text, _OF_DEALING)
            return


def _melds(rules: RuleSet, seats: int | None) -> Iterator[Fault]:
    """No end by points, where nobody can ever score: no seat can hold a meld, or none can go out where it must (G8).

    Only what can never happen is a fault, not what hardly ever does. The first number of players that shows it is told.
    """
    if rules.deals:
        return
    for players in _players(rules, seats):
        sizes, held = _sizes(rules, players), _most_held(rules, players)
        needed = min(sizes) + (rules.go_out is GoOut.DISCARD)
        if held < needed:
            text = f"each of {players} players holds {held} cards at the most, where a meld takes {needed}"
        elif not _may_go_out(rules, players, sizes, held):
            text = f"no hand of any of {players} players can be laid in melds to its end, and only who is out scores"
        else:
            continue
        yield Fault("hand_size", "NO_END", f"the match has no end: deals is 0, and {text}", ("deals", *_OF_HANDS))
        return


def _sizes(rules: RuleSet, players: int) -> list[int]:
    """The numbers of cards that a new meld may have."""
    of_a_rank = 4 if rules.distinct_suits else 4 * packs_for(rules, players) + rules.jokers
    return [*range(rules.set_min, min(of_a_rank, rules.set_max or of_a_rank) + 1), *range(rules.run_min, 14)]


def _most_held(rules: RuleSet, players: int) -> int:
    """The most cards that a seat can hold while nobody lays any; the others keep as many as they were dealt.

    Where every turn ends with a discard, and at most one card of the pile is taken, a hand does not grow.
    """
    hand, taking = hand_size_for(rules, players), rules.discard_draw is DiscardDraw.ANY
    first = hand + _most_drawn(rules, players)
    if not taking and rules.discard is Discarding.REQUIRED:
        return first
    rest = max(first, packs_for(rules, players) * 52 + rules.jokers - (players - 1) * hand)
    if not rules.round_limit:
        return rest
    piled = rules.up_card + rules.round_limit * (players - 1) if taking else 0
    return min(rest, first + rules.round_limit - 1 + piled)


def _most_drawn(rules: RuleSet, players: int) -> int:
    """The most cards that a seat draws in its first turn."""
    return rules.opening_draw + players - 1 if rules.opening_draw else 1


def _may_go_out(rules: RuleSet, players: int, sizes: list[int], most: int) -> bool:
    """Whether melds can use up a hand of at most so many cards, or all of it but the discard; true if in doubt.

    Who lays off, or scores without going out, need not.
    """
    room = any(size + 1 in sizes for size in sizes)
    if rules.scoring is Scoring.MELDS or (rules.lay_off is not LayOffs.NONE and room):
        return True
    hand = hand_size_for(rules, players)
    drawn = rules.opening_draw if rules.opening_draw and rules.discard_draw is DiscardDraw.NONE else 1
    sums = {0}
    for laid in range(1, most + 1):
        if any(laid - size in sums for size in sizes):
            sums.add(laid)
    return any(laid in sums for laid in range(hand + drawn - 1, most + (rules.go_out is not GoOut.DISCARD)))


def _players(rules: RuleSet, seats: int | None) -> Iterable[int]:
    """The numbers of players to judge: the one that is asked for, or all that the rule set admits."""
    return range(rules.seats[0], rules.seats[1] + 1) if seats is None else (seats,)


def _shapes(rules: RuleSet) -> Iterator[Fault]:
    if rules.set_max and rules.set_max < rules.set_min:
        yield Fault("set_max", "CONFLICT", f"{rules.set_max} is less than set_min, {rules.set_min}", ("set_min",))
    if rules.distinct_suits and rules.set_min > 4:
        text = f"{rules.set_min} cards of one rank cannot be of different suits (distinct_suits)"
        yield Fault("set_min", "CONFLICT", text, ("distinct_suits",))


def _ends(rules: RuleSet) -> Iterator[Fault]:
    if not rules.target and not rules.deals:
        yield Fault("target", "NO_END", "the match has no end: target and deals are both 0", ("deals",))
    takes_cost_nothing = rules.discard_draw is not DiscardDraw.NONE and (not rules.use_taken or rules.top_free)
    if takes_cost_nothing and not rules.idle_limit and not rules.round_limit:
        text = "a deal may have no end: cards can go to and fro over the pile, and idle_limit and round_limit are 0"
        yield Fault("idle_limit", "NO_END", text, ("round_limit", "use_taken", "top_free", "discard_draw"))


def _turns(rules: RuleSet) -> Iterator[Fault]:
    if rules.discard_draw is DiscardDraw.NONE and rules.use_taken:
        text = "nothing may be taken from the discard pile (discard_draw)"
        yield Fault("use_taken", "CONFLICT", text, ("discard_draw",))
    if rules.go_out is GoOut.DISCARD and rules.discard is Discarding.OPTIONAL:
        text = "a final discard is asked for where discards are optional (discard)"
        yield Fault("go_out", "CONFLICT", text, ("discard",))


def _scoring(rules: RuleSet) -> Iterator[Fault]:
    if rules.scoring is Scoring.POOL:
        for field in ("stake", "carry_over", "one_winner"):
            if getattr(rules, field) is None:
                yield Fault(field, "MISSING", "pool scoring needs it")
        if rules.out_at_once != 1:
            yield Fault("out_at_once", "CONFLICT", "a pool is not multiplied (scoring)", ("scoring",))
    if rules.settlement is Settlement.PAY_WINNER and (rules.scoring is not Scoring.HANDS or rules.finish_round):
        text = "needs one winner to whom the others pay: scoring hands, and finish_round false"
        yield Fault("settlement", "CONFLICT", text, ("scoring", "finish_round"))


_TYPES = {field.name: field.type for field in fields(RuleSet)}
_OF_DEALING = ("packs", "opening_draw", "seats", "up_card", "jokers")
_OF_HANDS = (
    "run_min", "set_min", "set_max", "opening_draw", "go_out", "discard", "discard_draw", "lay_off", "round_limit",
)  # fmt: skip
_DEALING = frozenset({"hand_size", *_OF_DEALING})  # what hands are counted by
_MELDING = frozenset({"set_min", "set_max", "run_min", "round_limit"})  # … and what melds they can hold
_MOST_ECHOED = 40
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
