"""A rule set at a table of so many seats: whether it fits, and what the number of players decides."""

from msgspec.structs import replace

from engine.errors import Fault
from engine.faults import SEATS, faults
from engine.rules import RuleSet, hand_size_for, packs_for

__all__ = ["faults_at", "settled"]


def faults_at(rules: RuleSet, seat_count: int) -> list[Fault]:
    """Everything that keeps the rule set from a table of so many seats; none: any match there can be played.

    A match may start before every seat is taken, so the rule set must suit each number of players that it admits, up
    to `seat_count`; what several do not suit is told of the most. Where `seat_count` itself is wrong it is the fault's
    field.
    """
    (least, most), found = rules.seats, dict[tuple[str, str], Fault]()
    if not SEATS[0] <= least <= most <= SEATS[1]:  # told by `faults`; what any table may have is the measure, then
        least, most = SEATS
    for players in reversed(range(least, max(least, min(seat_count, most)) + 1)):
        for fault in faults(rules, players):
            found.setdefault((fault.field, fault.reason), fault)
    if not least <= seat_count <= most:
        text = f"{seat_count} seats, where {least}-{most} may play"
        found["seat_count", ""] = Fault("seat_count", "OUT_OF_RANGE", text)
    return list(found.values())


def settled(rules: RuleSet, players: int) -> RuleSet:
    """The rule set as so many players play by it: the packs and the hand size, where left out, are filled in."""
    return replace(rules, packs=packs_for(rules, players), hand_size=hand_size_for(rules, players))
