"""The solver beside a search that tries everything, beside OpenSpiel's, and beside what the engine accepts."""

import functools
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.actions import SwapJoker
from engine.cards import JOKER, rank_of, suit_of
from engine.lays import is_open, possible_lays
from engine.notation import read_cards, write_cards
from engine.rules import Ace, AcePoints, GoOut, LayOffs, RuleSet
from engine.scoring import hand_points, shown_points
from engine.solver import Effort, Objective, best
from engine.solver.cores import cores_of, held_of
from engine.solver.search import _Steps
from engine.state import Meld, Phase
from engine.step import play, step
from tests.strategies import meld, moments, position, rules_of, seeds, tables

LEAST, MOST = Objective

# A search of its own: it knows the rules' words, and nothing of the engine's melds.

Cards = tuple[int, ...]
Lain = tuple[str, int, int, Cards]
"""A meld on the table: a set of a rank (and 0), or a run of a suit from a place on."""


class Naive:
    """Tries every set of cards as a meld, and every card on every meld, in every order."""

    def __init__(self, rules: RuleSet, objective: Objective) -> None:
        self.rules, self.objective = rules, objective
        self.top = 14 if rules.ace is Ace.EITHER else 13
        self.search = functools.cache(self._search)
        self.value = functools.cache(self._value)

    def best(self, hand: bytes, table: list[Meld], seat: int) -> tuple[int, int]:
        """The points left (or, negative, those laid), and the number of cards left."""
        self.held = len(hand)
        found = self.search(tuple(sorted(hand)), tuple(self.open(table, seat)))
        assert found is not None
        return found

    def open(self, table: list[Meld], seat: int) -> Iterator[Lain]:
        for lain in table:
            if self.rules.lay_off is LayOffs.ANY or (self.rules.lay_off is LayOffs.OWN and lain.founder == seat):
                natural = next(card for card in lain.cards if card != JOKER)
                is_set = lain.kind == "set"
                yield lain.kind, rank_of(natural) if is_set else suit_of(natural), lain.low, tuple(lain.cards)

    def _search(self, hand: Cards, table: tuple[Lain, ...]) -> tuple[int, int] | None:
        found = [] if self.rules.go_out is GoOut.DISCARD and not hand and self.held else [(self.left(hand), len(hand))]
        for size in range(min(self.rules.set_min, self.rules.run_min), len(hand) + 1):
            for laid in set(itertools.combinations(hand, size)):
                value = self.value(laid)
                if value is not None:
                    found += self.then(without(hand, laid), table, value)
        for card, (index, lain) in itertools.product(set(hand), enumerate(table)):
            for after, value in self.added(lain, card):
                found += self.then(without(hand, (card,)), (*table[:index], after, *table[index + 1 :]), value)
        return min(found, default=None)

    def then(self, hand: Cards, table: tuple[Lain, ...], value: int) -> list[tuple[int, int]]:
        rest = self.search(hand, table)
        gain = value if self.objective is MOST else 0
        return [] if rest is None else [(rest[0] - gain, rest[1])]

    def left(self, hand: Cards) -> int:
        if self.objective is MOST:
            return 0
        points = 0
        for rank in (*range(1, 14), None):
            same = [card for card in hand if (None if card == JOKER else rank_of(card)) == rank]
            count = len(same) - 2 * (len(same) // 3) if rank and self.rules.sets_count_once else len(same)
            points += count * self.points(same[0]) if same else 0
        return points

    def points(self, card: int, place: int = 0) -> int:
        """What a card counts, in a run at a place."""
        if card == JOKER:
            return self.rules.joker_points
        if rank_of(card) > 1:
            return self.rules.court_points if rank_of(card) > 10 else rank_of(card)
        if self.rules.ace_points is AcePoints.FIFTEEN:
            return 1 if place == 1 else 15
        return 11 if self.rules.ace_points is AcePoints.ELEVEN_IF_HIGH and self.top == 14 else 1

    def _value(self, cards: Cards) -> int | None:
        """The most that the cards count as one new meld, or None where they are none."""
        naturals = [card for card in cards if card != JOKER]
        if not naturals:
            return None
        found = []
        if len(cards) >= self.rules.set_min and self.is_set(rank_of(naturals[0]), cards):
            found.append(sum(self.points(card) for card in cards))
        if len(cards) >= self.rules.run_min and len({suit_of(card) for card in naturals}) == 1:
            for low in range(1, self.top - len(cards) + 2):
                places = range(low, low + len(cards))
                at = {rank_of(card): card for card in naturals}
                fitting = [at[(place - 1) % 13 + 1] for place in places if (place - 1) % 13 + 1 in at]
                if sorted(fitting) == sorted(naturals) and not (low == 1 and places[-1] == 14):
                    wild = self.points(JOKER) * (len(cards) - len(naturals))
                    found.append(wild + sum(self.points(c, 1 if low == 1 and rank_of(c) == 1 else 2) for c in naturals))
        return max(found, default=None)

    def is_set(self, rank: int, cards: Cards) -> bool:
        naturals = [card for card in cards if card != JOKER]
        if self.rules.distinct_suits and (len(cards) > 4 or len(set(naturals)) < len(naturals)):
            return False
        return all(rank_of(card) == rank for card in naturals) and len(cards) <= (self.rules.set_max or 99)

    def added(self, lain: Lain, card: int) -> Iterator[tuple[Lain, int]]:
        kind, of, low, cards = lain
        if kind == "set":
            if self.is_set(of, (*cards, card)):
                yield (kind, of, low, tuple(sorted((*cards, card)))), self.points(card)
            return
        high = low + len(cards) - 1
        for place, first, last in ((low - 1, low - 1, high), (high + 1, low, high + 1)):
            fits = card == JOKER or (suit_of(card) == of and rank_of(card) == (place - 1) % 13 + 1)
            if fits and place >= 1 and last <= self.top and not (first == 1 and last == 14):
                yield (kind, of, first, (*cards, card)), self.points(card, place)


def without(hand: Cards, cards: Cards) -> Cards:
    left = list(hand)
    for card in cards:
        left.remove(card)
    return tuple(left)


RULES = st.builds(
    rules_of,
    st.sampled_from(["basic", "rummy500", "pool500"]),
    set_min=st.sampled_from([2, 3, 3, 3, 4]),
    set_max=st.sampled_from([0, 0, 4, 5]),
    distinct_suits=st.booleans(),
    run_min=st.sampled_from([2, 3, 3, 3, 4, 5]),
    ace=st.sampled_from(["low", "either"]),
    lay_off=st.sampled_from(["none", "own", "any"]),
    ace_points=st.sampled_from(["one", "eleven_if_high", "fifteen"]),
    joker_points=st.sampled_from([0, 15, 15]),
    sets_count_once=st.booleans(),
    go_out=st.sampled_from(["free", "free", "discard"]),
)
DENSE = st.sampled_from([rank + suit for rank in "A2345QK" for suit in "CH"] + ["6C", "7C", "3D", "3S", "JK", "JK"])
FEW = st.lists(DENSE, max_size=7).map(" ".join).map(read_cards)
WHOLE_SUIT = "AH 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH"
MELDS = ["2H 3H 4H", "5C 6C 7C", "QC KC AC", "JC QC KC", "3C 3D 3S", "4C 4D 4H", "4H JK 6H", WHOLE_SUIT[3:-3]]
TABLE = st.lists(st.tuples(st.sampled_from(MELDS), st.integers(0, 1)), max_size=2)


def on_table(rules: RuleSet, laid: list[tuple[str, int]]) -> list[Meld]:
    """Those of the melds, each with its owner, that the rules admit."""
    naive = Naive(rules, LEAST)
    return [meld(rules, cards, owner) for cards, owner in laid if naive.value(tuple(read_cards(cards))) is not None]


def played(rules: RuleSet, hand: bytes, table: list[Meld], objective: Objective) -> tuple[int, int]:
    """What the solver's arrangement comes to when the engine plays it: the points, as `Naive` gives them, and cards."""
    found = best(rules, hand, table, objective=objective)
    state = replace(position(rules, [hand, "9S TS"]), melds=tuple(table))
    shown = shown_points(rules, state.melds, 0)
    for action in found.actions:
        state = step(state, 0, action).state
    assert state.hands[0] == found.deadwood
    assert found.points == hand_points(rules, found.deadwood)
    points = found.points if objective is LEAST else shown - shown_points(rules, state.melds, 0)
    return points, len(found.deadwood)


@given(RULES, FEW, TABLE, st.sampled_from(Objective))
@settings(max_examples=500)
@pytest.mark.clause("B5")
@pytest.mark.clause("B6")
@pytest.mark.clause("B7")
@pytest.mark.clause("P8")
def test_nothing_is_better(rules: RuleSet, hand: bytes, laid: list[tuple[str, int]], objective: Objective) -> None:
    """Whatever the rules, the best arrangement is legal as it stands, and none leaves fewer points or shows more."""
    table = on_table(rules, laid)
    assert played(rules, hand, table, objective) == Naive(rules, objective).best(hand, table, 0)


LEFT: list[tuple[str, dict[str, object], str, list[str], str]] = [
    ("basic", {}, "5H 6H 7H 7C 7D 8S", [], "5H 6H 8S"),
    ("basic", {}, "4H 5H 6H 7H 7C 7D 8S", [], "8S"),
    ("basic", {}, "3H 4H 5H 5H 6H 7H", [], ""),
    ("basic", {}, "QS KS AS", [], "AS QS KS"),
    ("basic", {"ace": "either"}, "QS KS AS", [], ""),
    ("basic", {"ace": "either"}, "KS AS 2S", [], "AS 2S KS"),
    ("basic", {"ace": "either"}, f"AH {WHOLE_SUIT} 9C 9D 9S", [], ""),
    ("basic", {}, "4H 8H 9H 9S", ["5H 6H 7H"], "9S"),
    ("basic", {"lay_off": "none"}, "4H 8H", ["5H 6H 7H"], "4H 8H"),
    ("basic", {"lay_off": "own"}, "4H 4C", ["5H 6H 7H", "4D 4H 4S"], "4C 4H"),
    ("basic", {"ace": "either"}, "AH KH 7C 7D 7S", [WHOLE_SUIT[:-3]], "AH"),
    ("basic", {"ace": "either"}, "AH 2H 7C 7D 7S", [f"{WHOLE_SUIT[6:]} AH"], "AH"),
    ("basic", {"ace": "either"}, "AH AH 2H KH 7C 7D 7S", [WHOLE_SUIT[6:-3]], "AH"),
    ("basic", {"go_out": "discard"}, "2C 2D 2H KC KD KH", [], "2C 2D 2H"),
    ("basic", {"go_out": "discard"}, "2C 2D 2H", [], "2C 2D 2H"),
    ("rummy500", {"go_out": "discard"}, "AH 2H 3H JK", [], "2H"),
    ("pool500", {"set_min": 4}, "9C 9C 9D 8D", [], "9C 9C 8D 9D"),
    ("pool500", {"set_min": 4}, "5H 6H 7H 6D 6S JK", [], "6D 6H 6S"),
    ("basic", {}, "3H 4H 6H 7H JK", [], ""),
    ("basic", {}, "3H 4H 5H 5H 6H 7H 7H JK", [], ""),
    ("basic", {}, "6C 9C 3D 5D 6D 7S 8S JK", [], "6C 9C 3D 5D 6D"),
    ("basic", {}, "AD 5D 9D AH 2H 8H AS JK", [], "5D 9D 2H 8H"),
    ("basic", {}, "7H 8C JK", [], "8C 7H JK"),
    ("basic", {}, "7H JK JK", [], ""),
    ("basic", {}, "7H 8S JK JK", [], "7H"),
    ("basic", {}, "JK JK", ["4C 4D 4H"], ""),
    ("basic", {}, "JK", [WHOLE_SUIT], "JK"),
    ("basic", {}, "KH TC 8D JK", [WHOLE_SUIT[:-3]], "TC 8D KH"),
    ("basic", {"ace_points": "fifteen", "set_min": 5, "run_min": 5}, "AH 2H JK JK", [WHOLE_SUIT[6:-3]], "2H"),
    ("basic", {}, f"{WHOLE_SUIT} JK JK", [], ""),
    ("basic", {"set_max": 4}, "4C 4D 4H 4S JK JK", [], ""),
    ("rummy500", {}, "AC 2C 3C AD AH", [], "2C 3C"),
]


@pytest.mark.clause("B5")
@pytest.mark.parametrize(("preset", "fields", "hand", "table", "left"), LEFT)
def test_what_is_left(preset: str, fields: dict[str, object], hand: str, table: list[str], left: str) -> None:
    """The best arrangement of a hand, beside melds that another seat has laid, leaves just these cards."""
    rules = rules_of(preset, **fields)
    melds = [meld(rules, cards, 1) for cards in table]
    found = best(rules, read_cards(hand), melds)
    assert write_cards(found.deadwood) == left
    assert played(rules, read_cards(hand), melds, LEAST) == (found.points, len(found.deadwood))


CORNERS: list[tuple[str, dict[str, object], str]] = [
    ("basic", {"set_max": 3, "distinct_suits": True, "ace": "either", "go_out": "discard"}, "AC 8C KH JK JK JK"),
    ("basic", {"set_max": 3, "distinct_suits": True, "run_min": 4}, "QC QC AH QH KH JK JK"),
    (
        "pool500",
        {"set_max": 3, "distinct_suits": True, "go_out": "discard", "ace_points": "fifteen"},
        "AC AC QC KD AH KH KS JK JK",
    ),
    ("rummy500", {"ace": "low", "set_max": 5}, "AC 3D QH JK JK JK JK"),
    ("rummy500", {"set_max": 3}, "AC 3D QH JK JK JK"),
]


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize(("preset", "fields", "hand"), CORNERS)
def test_nothing_is_better_in_corners(preset: str, fields: dict[str, object], hand: str, objective: Objective) -> None:
    """Nor where jokers find no room, a card must be kept or an ace counts by its place."""
    rules, cards = rules_of(preset, **fields), read_cards(hand)
    assert played(rules, cards, [], objective) == Naive(rules, objective).best(cards, [], 0)


@pytest.mark.clause("F4")
def test_most_melded_is_not_least_left() -> None:
    """Where an ace counts 15, but 1 at the low end of a run, what shows most can leave more than need be."""
    rules = rules_of("rummy500")
    hand = read_cards("AH 2H 3H 3C 3D")
    assert write_cards(best(rules, hand, objective=LEAST).deadwood) == "3C 3D"
    assert write_cards(best(rules, hand, objective=MOST).deadwood) == "AH 2H"


@pytest.mark.parametrize("jokers", [0, 2, 4, 8])
def test_few_states_are_looked_at(jokers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among twenty cards of two packs, however many of them jokers, the best is found within a few hundred states."""
    looked_at: list[int] = []

    def after(steps: _Steps, left: int, side: int) -> Iterator[object]:
        looked_at[-1] += 1
        return honest(steps, left, side)

    honest, pack = _Steps.after, list(range(JOKER)) * 2
    chance = random.Random(jokers)  # noqa: S311  hands to test
    monkeypatch.setattr(_Steps, "after", after)
    for _ in range(100):
        looked_at.append(0)
        best(rules_of("pool500"), bytes(chance.sample(pack, 20 - jokers)) + bytes([JOKER] * jokers))
    assert 20 < max(looked_at) < 500


CROWDED = {"packs": 4, "jokers": 8, "hand_size": 52, "ace": "either"}
"""House rules of which hands come that no search takes apart in any time."""


def crowded(chance: random.Random, naturals: int) -> bytes:
    """So many cards of four packs, and eight jokers."""
    return bytes(sorted(chance.sample([*range(JOKER)] * 4, naturals) + [JOKER] * 8))


@pytest.mark.parametrize("go_out", ["free", "discard"])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("naturals", [44, 100, 190])
def test_the_effort_is_bounded(objective: Objective, go_out: str, naturals: int) -> None:
    """Where the effort is spent the search makes for an end: it is legal, lays more than half, and took little more."""
    rules, chance = rules_of("rummy500", go_out=go_out, **CROWDED), random.Random(3)  # noqa: S311  hands to test
    laid = [meld(rules, cards, 1) for cards in ("5C 6C 7C", "9H TH JH", "3D 3H 3S", "6S 7S 8S")]
    for table in ([], laid):
        hand, effort = crowded(chance, naturals), Effort(20_000)
        found = best(rules, hand, table, objective=objective, effort=effort)
        state = replace(position(rules, [hand, "9C"]), melds=tuple(table))
        assert play(state, 0, found.actions).accepted == len(found.actions)
        assert len(found.deadwood) < len(hand) / 2
        assert effort.spent
        assert effort.left > -20_000


def test_each_part_of_the_work_is_counted() -> None:
    """What lists the cores of a crowded hand ends soon after its effort, too, and with some of each kind."""
    rules, effort = rules_of("rummy500", **CROWDED), Effort(5_000)
    held = held_of(rules, crowded(random.Random(4), 120))  # noqa: S311  a hand to test
    found = list(cores_of(rules, held, [], effort, tidy=True))
    assert effort.left > -100
    assert 100 < len(found) < 200
    assert {core.cards[0] % 13 for core in found if core.kind == "set"} == set(range(13))
    assert {core.cards[0] // 13 for core in found if core.kind == "run"} == set(range(4))


def test_a_part_of_an_effort_is_spent_of_the_whole() -> None:
    """Of a part no more is there than it was given, and what is spent of it is gone from the whole."""
    whole = Effort(90)
    part = whole.part(3)
    assert (part.spend(20), part.left, whole.left) == (True, 10, 70)
    assert (part.spend(15), part.spent, whole.left) == (False, True, 55)
    assert best(rules_of(), read_cards("7C 7D 7S"), effort=part).actions == ()


@given(st.lists(st.integers(0, JOKER), max_size=16).map(bytes), st.sampled_from(Objective), st.integers(0, 9000))
def test_the_effort_is_worth_it(hand: bytes, objective: Objective, effort: int) -> None:
    """With little effort no more is claimed than with all of it, and what is claimed is there."""
    rules = rules_of("basic", jokers=8)
    most, found = (best(rules, hand, objective=objective, effort=some) for some in (None, Effort(effort)))
    assert found.points >= most.points
    assert found.points == hand_points(rules, found.deadwood)
    assert sorted(found.deadwood + b"".join(action.cards for action in found.actions)) == sorted(hand)


OPEN_SPIEL = Path(__file__).with_name("open_spiel_hands.txt").read_text().splitlines()


def test_open_spiel_finds_the_same() -> None:
    """In thousands of hands, many of them rich in melds, OpenSpiel's gin rummy solver finds just as few points left."""
    rules = rules_of("basic")
    hands = [line.split(": ") for line in OPEN_SPIEL]
    assert len(hands) == 4000
    assert [(hand, str(best(rules, read_cards(hand)).points)) for hand, _ in hands] == [tuple(line) for line in hands]


RICH = st.lists(st.integers(0, JOKER), min_size=9, max_size=26).map(bytes)


@given(tables(), seeds)
@settings(max_examples=25)
@pytest.mark.clause("G7")
def test_in_any_match_it_can_be_played(table: tuple[RuleSet, int], seed: int) -> None:
    """In a seat's turn, with nothing owed, the best arrangement's actions are legal in their order, as one request."""
    for state, _ in moments(*table, seed, most=60):
        seat = state.turn
        found = best(state.rules, state.hands[seat], state.melds, seat=seat)
        free = state.phase is Phase.PLAY and is_open(state, seat) and not state.owed and not state.owed_jokers
        if free and found.actions:
            then = play(state, seat, found.actions).state
            assert then.hands[seat] == found.deadwood


@given(RICH, st.sampled_from(["basic", "rummy500", "pool500"]))
@settings(max_examples=100)
def test_no_single_change_betters_it(hand: bytes, preset: str) -> None:
    """Even of a hand too large to try everything, no meld and no lay-off can be made of what is left."""
    rules = rules_of(preset)
    state = position(rules, [hand, "9S TS"])
    found = best(rules, hand)
    for action in found.actions:
        state = step(state, 0, action).state
    assert state.hands[0] == found.deadwood
    assert not [lay for lay in possible_lays(state, 0) if not isinstance(lay, SwapJoker)]
