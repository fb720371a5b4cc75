"""What a hand can lay: the naturals of every possible meld and lay-off, and how many jokers go with them.

A *core* is the naturals that lie together, without the jokers. It needs jokers to fill the gaps of its run and to be
long enough, and has room for more. Where a joker lies makes no difference to the points, so jokers are counted here,
and placed when the cores are chosen. A run has at most 13 places, as no ace lies at both ends: n naturals leave room
for 13 - n jokers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from engine.actions import MeldKind
from engine.cards import JOKER
from engine.melds import card_at, highest, may_lay_off, set_limit, suit_of_run
from engine.rules import RuleSet
from engine.solver.effort import Effort
from engine.state import Meld

__all__ = ["LONGEST_RUN", "Core", "Held", "OpenMeld", "cores_of", "held_of", "open_melds", "triples"]

LONGEST_RUN = 13

_A_CORE: Final = 30
"""Steps that a core takes until it is a move of the search, some ten microseconds."""
_A_CHAIN: Final = 3
"""Steps that it takes to look at a choice of places in a run."""


class Core(NamedTuple):
    """Naturals that lie together."""

    kind: MeldKind | None
    """None: three of a rank that stay in the hand and count as one card (P9)."""
    cards: bytes
    """The naturals; those of a run low to high."""
    places: tuple[int, ...]
    """Of a run: where they lie, 1-14 (1 the ace below the two, 14 the ace above the king)."""
    need: int
    """The jokers without which they are no meld, or no lay-off."""
    room: int
    """The most jokers that go with them, those needed included."""
    onto: int | None = None
    """The index of the meld on the table that they are laid off on; None: a new meld."""
    skipped: bytes = b""
    """Cards at whose places jokers lie: while one of them is at hand, the core with it is no worse than this one."""


class OpenMeld(NamedTuple):
    """A meld on the table that the seat may add to: its index there, and the cards that it still takes."""

    onto: int
    meld: Meld
    room: int


class Held(NamedTuple):
    """A hand, counted."""

    jokers: int
    counts: dict[int, int]
    """By natural."""
    copies: int
    """The most equal naturals, at least 1."""
    ranks: dict[int, list[int]]
    """By rank, 1-13: its naturals, each once."""
    suits: dict[int, list[int]]
    """By suit: the places in a run, low to high, that a natural fits; an ace 14, too, where the rules have it so."""


def held_of(rules: RuleSet, hand: bytes) -> Held:
    """The hand, counted."""
    counts = dict(Counter(hand))
    jokers = counts.pop(JOKER, 0)
    ranks, suits = dict[int, list[int]](), dict[int, list[int]]()
    for card in sorted(counts):
        suit, rank = divmod(card, 13)
        ranks.setdefault(rank + 1, []).append(card)
        suits.setdefault(suit, []).append(rank + 1)
    if highest(rules) > 13:
        for places in suits.values():
            if places[0] == 1:
                places.append(14)
    return Held(jokers, counts, max(counts.values(), default=1), ranks, suits)


def open_melds(rules: RuleSet, table: Sequence[Meld], seat: int) -> list[OpenMeld]:
    """The melds on the table that the seat may lay off on and that are not full (B6, F11)."""
    found = []
    for index, meld in enumerate(table):
        room = (set_limit(rules) if meld.kind is MeldKind.SET else LONGEST_RUN) - len(meld.cards)
        if room > 0 and may_lay_off(rules, seat, meld):
            found.append(OpenMeld(index, meld, room))
    return found


def cores_of(rules: RuleSet, held: Held, table: Sequence[OpenMeld], effort: Effort, *, tidy: bool) -> Iterator[Core]:
    """Every core that the hand has the jokers for, as a new meld or on an open one; some of each kind for less effort.

    `tidy` says that a natural laid in place of a joker is never a loss: cores that this makes needless are left out.
    """
    kinds = list(_kinds(rules, held, table, effort, tidy=tidy))
    while kinds and not effort.spent:
        for kind in kinds[:]:
            core = next(kind, None)
            if core is None:
                kinds.remove(kind)
            else:
                yield core
                effort.spend(_A_CORE)
            if effort.spent:
                return


def _kinds(
    rules: RuleSet, held: Held, table: Sequence[OpenMeld], effort: Effort, *, tidy: bool
) -> Iterator[Iterator[Core]]:
    """The cores of each rank, from each place of a suit on, and for each open meld; large ones are among the first."""
    limit, copies = set_limit(rules), 1 if rules.distinct_suits else held.copies
    least = max(1, rules.set_min - held.jokers)
    for cards in held.ranks.values():
        if len(cards) * copies >= least:
            bags = _bags(held, cards, range(least, limit + 1), copies, effort)
            yield _new_sets(rules, bags)
    for suit, places in held.suits.items():
        runs = [open_ for open_ in table if open_.meld.kind is MeldKind.RUN and suit_of_run(open_.meld) == suit]
        if runs or len(places) + held.jokers >= rules.run_min:
            of = _suit(held, suit, places, runs, effort, tidy=tidy)
            yield from (_new_runs(rules, of, index) for index in range(len(places)))
            yield from (_longer_runs(of, open_) for open_ in runs)
    for onto, meld, room in table:
        if meld.kind is MeldKind.SET and meld.low in held.ranks:
            barred = meld.cards if rules.distinct_suits else b""
            cards = [card for card in held.ranks[meld.low] if card not in barred]
            bags = _bags(held, cards, range(1, room + 1), copies, effort)
            yield _larger_sets(bags, onto, room)


def triples(held: Held, effort: Effort) -> Iterator[Core]:
    """Every three cards of a rank: left in the hand they count as one (P9)."""
    for cards in held.ranks.values():
        for bag in _bags(held, cards, range(3, 4), held.copies, effort):
            yield Core(None, bag, (), 0, 0)
            effort.spend(_A_CORE)


def _new_sets(rules: RuleSet, bags: Iterator[bytes]) -> Iterator[Core]:
    for bag in bags:
        yield Core(MeldKind.SET, bag, (), max(0, rules.set_min - len(bag)), set_limit(rules) - len(bag))


def _larger_sets(bags: Iterator[bytes], onto: int, room: int) -> Iterator[Core]:
    for bag in bags:
        yield Core(MeldKind.SET, bag, (), 0, room - len(bag), onto)


def _bags(held: Held, cards: Sequence[int], sizes: range, copies: int, effort: Effort) -> Iterator[bytes]:
    """Every bag of so many of the cards, of each no more than are held, nor than `copies`."""
    counts = [min(held.counts[card], copies) for card in cards]
    if sum(counts) >= sizes.start:
        for taken in product(*(range(count, -1, -1) for count in counts)):
            if not effort.spend(1):
                return
            if sum(taken) in sizes:
                yield b"".join(bytes([card]) * count for card, count in zip(cards, taken, strict=True))


class _Suit(NamedTuple):
    """What runs of a suit the hand can make or add to."""

    suit: int
    places: list[int]
    jokers: int
    skipping: bool
    """Whether jokers may lie where there is a natural, too."""
    needless: bool
    """… which is no better while that natural is at hand, if the run has room for the joker besides."""
    effort: Effort

    def core(self, chain: tuple[int, ...], need: int, room: int, *, around: tuple[int, int], onto: int | None) -> Core:
        """The naturals at the places: below and above those that lie there already, from and to which `around` says."""
        skipped = b""
        if self.skipping and self.needless and room - len(chain) > self.jokers:
            first, last = around
            inside = (place for place in self.places if chain[0] < place < first or last < place < chain[-1])
            skipped = bytes(card_at(self.suit, place) for place in inside if place not in chain)
        cards = bytes(card_at(self.suit, place) for place in chain)
        return Core(MeldKind.RUN, cards, chain, need, room - len(chain), onto, skipped)


def _suit(held: Held, suit: int, places: list[int], runs: Sequence[OpenMeld], effort: Effort, *, tidy: bool) -> _Suit:
    # Two runs that cross are as good as one, where no card is there twice and the one has room for all the jokers.
    room = min((open_.room for open_ in runs), default=LONGEST_RUN) - len(places)
    single = held.copies == 1 or all(held.counts[card_at(suit, place)] == 1 for place in places)
    return _Suit(suit, places, held.jokers, not (tidy and single and room >= held.jokers), tidy, effort)


def _new_runs(rules: RuleSet, of: _Suit, index: int) -> Iterator[Core]:
    """New runs whose first natural is that of the place of this index."""
    naturals, first = max(1, rules.run_min - of.jokers), of.places[index]
    nearest = of.places[index : index + naturals]
    if len(nearest) < naturals or nearest[-1] >= first + rules.run_min:
        return  # too few of them within the shortest run
    later = [place for place in of.places[index + 1 :] if place < first + LONGEST_RUN]
    for chain, gaps in _chains(first, later, of.jokers, skipping=of.skipping):
        need = gaps + max(0, rules.run_min - (chain[-1] + 1 - first))
        if need <= of.jokers:
            yield of.core(chain, need, LONGEST_RUN, around=(first, first), onto=None)
        if not of.effort.spend(_A_CHAIN):
            return


def _longer_runs(of: _Suit, open_: OpenMeld) -> Iterator[Core]:
    """What goes to the ends of a run on the table."""
    around = open_.meld.low, open_.meld.low + len(open_.meld.cards) - 1
    for chain, gaps in _extensions(of, *around):
        yield of.core(chain, gaps, open_.room, around=around, onto=open_.onto)
        if not of.effort.spend(_A_CHAIN):
            return


def _extensions(of: _Suit, first: int, last: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every choice of places below and above a run on the table, with the jokers in the gaps (B6, F11).

    Never an ace at both ends.
    """
    down = [-place for place in reversed(of.places) if place < first and not (place == 1 and last == 14)]
    up = [place for place in of.places if place > last and not (place == 14 and first == 1)]
    for below, low_gaps in _chains(-first, down, of.jokers, skipping=of.skipping):
        for above, high_gaps in _chains(last, up, of.jokers - low_gaps, skipping=of.skipping):
            chain = (*(-place for place in reversed(below[1:])), *above[1:])
            if chain and not (chain[0] == 1 and chain[-1] == 14):
                yield chain, low_gaps + high_gaps


def _chains(first: int, later: Sequence[int], jokers: int, *, skipping: bool) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every choice of later places that jokers in the gaps link to the first, with the number of these jokers.

    The first leads each choice. Without `skipping` no gap lies where there is a later place.
    """
    yield (first,), 0
    for index, place in enumerate(later if skipping else later[:1]):
        gap = place - first - 1
        if gap > jokers:
            return
        for chain, gaps in _chains(place, later[index + 1 :], jokers - gap, skipping=skipping):
            yield (first, *chain), gap + gaps
