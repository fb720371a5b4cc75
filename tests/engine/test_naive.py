"""The engine against a second way to say the same, which is slow and simple: `tests.engine.naive`, `naive_scores`."""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.actions import End, LayDown, LayOff, MeldKind, SwapJoker
from engine.cards import JOKER, NO_CARD, write_cards
from engine.errors import Refused
from engine.events import DealEnd
from engine.lays import Lay, after
from engine.legal import check
from engine.melds import readings
from engine.notation import read_card, read_cards, write_action, write_position
from engine.rules import JokerSwap, RuleSet
from engine.scoring import match_result, scored
from engine.state import Meld, State
from tests.engine import naive, naive_scores
from tests.strategies import OPTIONS, moments, position, rules_of, seeds, some_lay, tables

PACK = read_cards("AS 2S 3S 4S 5S JS QS KS 5H 4D 4C KH JK JK JK")
RUNS = ("2S 3S 4S", "JK 3S 4S", "4S JK 6S", "JS QS KS", "QS KS JK", "TS JK QS JK", "3H JK JK 6H", "3H JK 5H")
SETS = ("4D 4C JK", "4S 4D 4C", "KS KH JK JK", "AS AH JK")
LYING = (*RUNS, *SETS, "AH 2H 3H", "2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS")


def as_naive(state: State) -> naive.Table:
    """What the naive rules need to know of a state."""
    return naive.Table(
        rules=naive.Rules(*(getattr(state.rules, field.name) for field in dataclasses.fields(naive.Rules))),
        seat=state.turn,
        hand=words(state.hands[state.turn]),
        melds=tuple(lying(meld) for meld in state.melds),
        first=(state.dealer + 1) % len(state.hands),
        knocked=state.knocked,
        voided=state.voided,
        owed=write_cards(state.taken[:1]) if state.owed else None,
        owed_jokers=state.owed_jokers,
    )


def words(cards: bytes) -> naive.Cards:
    return tuple(write_cards(cards).split())


def lying(meld: Meld) -> naive.Lying:
    kept = sorted(zip(meld.cards, meld.owners, strict=True)) if meld.kind is MeldKind.SET else None
    cards, owners = (bytes(part) for part in zip(*kept, strict=True)) if kept else (meld.cards, meld.owners)
    return naive.Lying(meld.kind.value, words(cards), tuple(owners), meld.founder)


def by_naive(table: naive.Table, lay: Lay) -> naive.Table | str:
    """What the naive rules make of a lay: the table after it, or the reason against it."""
    try:
        match lay:
            case LayDown(cards, kind):
                return sorted_sets(naive.lay_down(table, words(cards), kind and kind.value))
            case LayOff(meld, cards, end):
                return sorted_sets(naive.lay_off(table, meld, words(cards), end and end.value))
            case SwapJoker(meld, card):
                return sorted_sets(naive.swap(table, meld, write_cards([card])))
    except naive.No as no:
        return str(no)


def sorted_sets(table: naive.Table) -> naive.Table:
    """The same table, each set with its cards in the order of the engine's: where they lie in it means nothing."""
    melds = []
    for meld in table.melds:
        kept = sorted(zip(read_cards(" ".join(meld.cards)), meld.owners, strict=True))
        if meld.kind == "set":
            cards, owners = words(bytes(card for card, _ in kept)), tuple(owner for _, owner in kept)
            melds.append(dataclasses.replace(meld, cards=cards, owners=owners))
        else:
            melds.append(meld)
    return dataclasses.replace(table, melds=tuple(melds))


def by_engine(state: State, lay: Lay) -> naive.Table | str:
    """The same of the engine."""
    try:
        placed = check(state, state.turn, lay)
    except Refused as refusal:
        return refusal.reason.value
    assert placed is not None
    return as_naive(after(state, state.turn, placed))


SHAPES: dict[str, Sequence[object]] = {
    **{name: OPTIONS[name] for name in ("set_max", "distinct_suits", "run_min", "ace", "joker_swap", "go_out")},
    "set_min": (2, 3, 4),
    "lay_off": ("any", "any", "own", "none"),
    "opening_order": ("any", "any", "any", "first_player"),
}


def a_position(chance: random.Random) -> State:
    """A position in which a seat is to play by some rules, owing a card or jokers or nothing."""
    shape = {name: chance.choice(values) for name, values in SHAPES.items()}
    rules = rules_of("basic", **{"packs": 2, "jokers": 8, **shape})
    hand = bytes(chance.choices(PACK, k=chance.randint(1, 4)))
    lying = [cards for cards in chance.sample(LYING, k=chance.randint(0, 2)) if readings(rules, read_cards(cards))]
    owing = chance.random() < 0.25
    return position(
        rules,
        [hand, "9C KD"],
        melds=[(cards, chance.randint(0, 1)) for cards in lying],
        knocked=chance.random() < 0.5,
        dealer=chance.randint(0, 1),
        voided=(1,) if chance.random() < 0.25 else (),
        owed_jokers=chance.randint(0, hand.count(JOKER)) if rules.joker_swap is JokerSwap.SAME_TURN else 0,
        taken=hand[:1] if owing else b"",
        owed=owing,
    )


def every_lay(state: State) -> Iterator[Lay]:
    """Every lay that can be named with the cards in hand, and one card that may not be among them."""
    hand, melds = (*state.hands[state.turn], read_card("9S")), range(-1, len(state.melds) + 1)
    orders = {bytes(cards) for size in range(len(hand) + 1) for cards in itertools.permutations(hand, size)}
    bags = {bytes(cards) for size in range(len(hand) + 1) for cards in itertools.combinations(hand, size)}
    yield from (LayDown(cards, kind) for cards in sorted(orders) for kind in (None, *MeldKind))
    yield from (LayOff(meld, cards, end) for cards in sorted(bags) for meld in melds for end in (None, *End))
    yield from (SwapJoker(meld, card) for card in sorted(set(hand)) for meld in melds)


@given(seeds)
@settings(max_examples=150, deadline=None)
@pytest.mark.clause("G2")
def test_every_lay_is_judged_as_the_rules_read(seed: int) -> None:
    """Whatever is laid under whatever rules comes to what the naive rules say, or is refused for their reason."""
    state = a_position(random.Random(seed))  # noqa: S311  a position to test
    table = as_naive(state)
    for lay in every_lay(state):
        assert by_engine(state, lay) == by_naive(table, lay), f"{write_position(state)}\n{write_action(lay)}"


def a_long_lay(chance: random.Random) -> bytes:
    """Ten to fourteen cards that are a run, or nearly one: some are jokers, and one may be another card."""
    suit, low, size = chance.randrange(4), chance.randint(1, 5), chance.randint(10, 14)
    cards = [suit * 13 + (low + place - 1) % 13 for place in range(size)]
    for place in chance.sample(range(size), k=chance.randint(0, 3)):
        cards[place] = JOKER
    if chance.random() < 0.2:
        cards[chance.randrange(size)] = chance.choice([JOKER, chance.randrange(52)])
    if chance.random() < 0.2:
        cards.sort()
    if chance.random() < 0.3:
        cards[0] = cards[-1] = JOKER
    return bytes(cards)


@given(seeds)
@settings(max_examples=600, deadline=None)
@pytest.mark.clause("F3")
@pytest.mark.clause("B5")
def test_a_long_run_is_judged_as_the_rules_read(seed: int) -> None:
    """Runs of nearly a whole suit, and what only looks like one, come to what the naive rules say of them."""
    chance = random.Random(seed)  # noqa: S311  a position to test
    rules = rules_of("basic", packs=2, jokers=8, ace=chance.choice(["either", "low"]), hand_size=15, seats=[2, 2])
    lay = LayDown(a_long_lay(chance))
    state = position(rules, [lay.cards + read_cards("9C"), "KD"])
    assert by_engine(state, lay) == by_naive(as_naive(state), lay), write_action(lay)


@given(tables(), seeds)
@settings(max_examples=15, deadline=None)
def test_the_lays_of_a_match_are_judged_as_the_rules_read(table: tuple[RuleSet, int], seed: int) -> None:
    """In matches of all games, too, what is laid and what is tried comes to what the naive rules say."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    for state, action in moments(*table, seed, most=60):
        tried = [some_lay(state, state.turn, chance) for _ in range(3)]
        few = len(state.hands[state.turn]) <= 4 or state.rules.joker_swap != "same_turn"
        for lay in [action, *tried] if few and state.phase == "play" else []:
            if isinstance(lay, Lay) and (isinstance(lay, SwapJoker) or len(lay.cards) <= 5):
                told = f"{write_position(state)}\n{write_action(lay)}"
                assert by_engine(state, lay) == by_naive(as_naive(state), lay), told


SCORED = ("scoring", "ace", "ace_points", "sets_count_once", "settlement", "carry_over", "one_winner", "out_at_once")


def a_deal(chance: random.Random) -> tuple[State, DealEnd]:
    """A deal at its end, under any scoring rules."""
    options = {name: chance.choice(OPTIONS[name]) for name in SCORED}
    options |= {"court_points": chance.choice([10, 11]), "joker_points": chance.choice([0, 15, 20])}
    one = options["settlement"] == "pay_winner"
    rules = rules_of("pool500", **{**options, "scoring": "hands" if one else options["scoring"]})
    seats = chance.randint(2, 4)
    out = chance.sample(range(seats), k=chance.randint(0, 1 if one else seats - 1))
    hands = [b"" if seat in out else bytes(chance.choices(range(53), k=chance.randint(1, 9))) for seat in range(seats)]
    lying = [cards for cards in chance.sample(LYING, k=3) if readings(rules, read_cards(cards))]
    ends = [DealEnd.OUT] if out else [end for end in DealEnd if end is not DealEnd.OUT]
    last = [
        chance.choice([NO_CARD, *chance.choices(range(53), k=3)]) if seat in out else NO_CARD for seat in range(seats)
    ]
    state = position(
        rules,
        hands,
        melds=[(cards, chance.randrange(seats)) for cards in lying],
        round=chance.choice([1, 2, 5]),
        pool=chance.randint(0, 90),
        voided=tuple(seat for seat in range(seats) if seat not in out and chance.random() < 0.25),
        at_once=tuple(seat for seat in sorted(out) if chance.random() < 0.5),
        last_discards=bytes(last),
    )
    return state, chance.choice(ends)


def scoring_rules(rules: RuleSet) -> naive_scores.Rules:
    return naive_scores.Rules(*(getattr(rules, field.name) for field in dataclasses.fields(naive_scores.Rules)))


@given(seeds)
@settings(max_examples=600, deadline=None)
@pytest.mark.clause("B10")
@pytest.mark.clause("F6")
@pytest.mark.clause("P17")
def test_a_deal_is_scored_as_the_rules_read(seed: int) -> None:
    """Whatever lies and is held at the end of a deal counts, under whatever rules, what the naive scoring says."""
    state, end = a_deal(random.Random(seed))  # noqa: S311  a deal to test
    then = scored(state, end)
    assert then.result is not None
    found = naive_scores.Outcome(then.result.scores, then.result.winners, then.result.void, then.pool)
    cards = (None if card == NO_CARD else write_cards([card]) for card in state.last_discards)
    asked = naive_scores.Deal(
        hands=tuple(words(hand) for hand in state.hands),
        melds=tuple(lying(meld) for meld in state.melds),
        end=end.value,
        round=state.round,
        pool=state.pool,
        last_discards=tuple(cards),
        voided=state.voided,
        at_once=state.at_once,
    )
    assert naive_scores.outcome(scoring_rules(state.rules), asked) == found, write_position(then)


@given(
    st.sampled_from(OPTIONS["settlement"]),
    st.sampled_from([(500, 0), (500, 3), (0, 3)]),
    st.integers(1, 4),
    st.lists(st.integers(-30, 30).map(lambda tens: 10 * tens), min_size=2, max_size=5).map(tuple),
    st.integers(0, 500),
)
@settings(max_examples=200, deadline=None)
@pytest.mark.clause("F7")
def test_a_match_is_settled_as_the_rules_read(
    settlement: str, ends: tuple[int, int], deal: int, totals: tuple[int, ...], more: int
) -> None:
    """Who has won, and what each pays or receives, is what the naive settlement says of any totals."""
    rules = rules_of("rummy500", target=ends[0], deals=ends[1], settlement=settlement)
    raised = tuple(total + more for total in totals)
    found = match_result(rules, deal, raised)
    expected = naive_scores.match(scoring_rules(rules), deal, raised)
    assert expected == (None if found is None else (found.winners, found.settlement))
