"""The choice among cores, put as a problem of numbers for the search."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from engine.cards import JOKER
from engine.rules import AcePoints, GoOut, RuleSet
from engine.scoring import card_points
from engine.solver.cores import Core, Held, OpenMeld, cores_of, triples
from engine.solver.effort import Effort
from engine.solver.search import Leave, Move, Problem, cheapest

__all__ = ["Choice", "Objective", "chosen"]


class Objective(StrEnum):
    """What is best: that the fewest points are left in the hand, or that the most are laid on the table."""

    LEAST_DEADWOOD = "least_deadwood"
    MOST_MELDED = "most_melded"


class Choice(NamedTuple):
    """Cores to lay, no two of them with the same card, and the number of jokers to leave in the hand."""

    cores: list[Core]
    jokers_left: int


def chosen(rules: RuleSet, held: Held, table: Sequence[OpenMeld], objective: Objective, effort: Effort) -> Choice:
    """The best choice for a hand with melds on the table that it may add to; a good one where it takes more effort."""
    once = rules.sets_count_once and objective is Objective.LEAST_DEADWOOD
    keeps = rules.go_out is GoOut.DISCARD
    if once and not keeps and rules.set_min <= 3 <= (rules.set_max or 3) and not rules.distinct_suits:
        once = False  # three of a rank can be laid as well
    listing = effort.part(2)  # the other half is for the search
    cores = [
        *cores_of(rules, held, table, listing, tidy=not (once or keeps)),
        *(triples(held, listing) if once else ()),
    ]
    if not cores and not held.jokers:
        return Choice([], 0)
    if held.jokers:
        cores = _better(cores)
    names, jokers_left = cheapest(_problem(rules, held, table, objective, cores), effort)
    return Choice([cores[name] for name in names if cores[name].kind], jokers_left)


_SCALE = 64  # a cost is so much for a point and 1 for a card: of equally many points the fewest cards


def _better(cores: Sequence[Core]) -> list[Core]:
    """The cores without those that another one of the same naturals makes needless."""
    rivals: dict[tuple[bytes, int | None], list[Core]] = {}
    for core in cores:
        same = rivals.setdefault((bytes(sorted(core.cards)), core.onto), [])
        if not any(_does(other, core) for other in same):
            same[:] = [other for other in same if not _does(core, other)]
            same.append(core)
    return [core for same in rivals.values() for core in same]


def _does(one: Core, other: Core) -> bool:
    """Whether a core does all that another of the same naturals does, at no more cost."""
    if None in (one.kind, other.kind):
        return one.kind is other.kind
    return one.need <= other.need and one.room >= other.room and (1 not in one.places or 1 in other.places)


class _Fields(NamedTuple):
    """Where in the search's one number the cards are counted: naturals by rank, open melds, jokers on top."""

    width: int
    card: dict[int, int]
    """By natural: the lowest bit of its field."""
    meld: dict[int, int]
    """By open meld's index: its bit."""
    joker: int

    def all_of(self, cards: bytes) -> int:
        """The whole fields of the cards."""
        return sum(((1 << self.width) - 1) * self.card[card] for card in set(cards))

    def uses(self, core: Core) -> int:
        """The cards, the jokers and the meld of a core."""
        meld = 0 if core.onto is None else self.meld[core.onto]
        return sum(self.card[card] for card in core.cards) + core.need * self.joker + meld


def _fields(held: Held, useful: Sequence[int], table: Sequence[OpenMeld]) -> _Fields:
    width = max((held.jokers, *held.counts.values())).bit_length() + 1
    units = [1 << width * field for field in range(len(useful) + len(table) + 1)]
    naturals = dict(zip(useful, units, strict=False))
    melds = {open_.onto: unit for open_, unit in zip(table, units[len(useful) :], strict=False)}
    return _Fields(width, naturals, melds, units[-1])


def _problem(
    rules: RuleSet, held: Held, table: Sequence[OpenMeld], objective: Objective, cores: Sequence[Core]
) -> Problem:
    useful = sorted({card for core in cores for card in core.cards}, key=lambda card: (card % 13, card))
    cost = {card: card_points(rules, card) * _SCALE + 1 for card in (*useful, JOKER)}
    free = {card for core in cores if not core.need for card in core.cards}
    bound = {card: 0 if card in free else cost[card] for card in useful}
    # An ace laid low in a run counts 1, where else it counts 15 (F4).
    low_ace = 14 * _SCALE if objective is Objective.MOST_MELDED and rules.ace_points is AcePoints.FIFTEEN else 0

    fields = _fields(held, useful, table)
    moves: dict[int, list[Move]] = {card: [] for card in useful}
    saved = 0
    for name, core in enumerate(cores):
        # Three left as one count one card in points, and three in number.
        spent = cost[core.cards[0]] + 2 if core.kind is None else low_ace * (1 in core.places)
        saves = sum(bound[card] for card in core.cards)
        if core.need:
            saved = max(saved, -(-saves // core.need))
        lowest = min(core.cards, key=fields.card.__getitem__)
        idle, stays = fields.all_of(core.skipped), int(core.kind is None)
        moves[lowest].append(Move(fields.uses(core), idle, core.room, spent, saves, stays, name))

    apart = len(useful) < len(held.counts)  # a natural stays in the hand in any case
    naturals = sum(held.counts[card] * unit for card, unit in fields.card.items())
    return Problem(
        left=naturals + sum(fields.meld.values()) + held.jokers * fields.joker,
        width=fields.width,
        leaves=tuple(Leave(cost[card], bound[card]) for card in useful),
        moves=tuple(tuple(moves[card]) for card in useful),
        melds=tuple(open_.room for open_ in table),
        jokers=held.jokers,
        joker_cost=cost[JOKER],
        saved=saved,
        kept=int(rules.go_out is GoOut.FREE or apart or not (held.counts or held.jokers)),
    )
