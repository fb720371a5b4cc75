"""Jokers owed: by `same_turn` one has a joker just where it can be played again, and to know that costs little."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine import debts
from engine.actions import Discard, LayDown, LayOff, Pass, SwapJoker
from engine.cards import JOKER
from engine.legal import is_legal, legal_actions
from engine.notation import read_cards, write_position
from engine.rules import JokerSwap, RuleSet
from engine.state import State
from engine.step import step
from engine.view import view
from tests.strategies import position, rules_of

RULES = st.builds(
    lambda **options: rules_of(jokers=8, packs=2, joker_swap="same_turn", **options),
    set_min=st.sampled_from([3, 4, 5]),
    set_max=st.sampled_from([0, 5]),
    run_min=st.just(3),
    lay_off=st.sampled_from(["none", "own", "any"]),
    go_out=st.sampled_from(["free", "discard"]),
)
FEW = st.lists(st.sampled_from(read_cards("7H 4C 3S 4H 3C 4S 5D 9S JK 7D")), min_size=1, max_size=4).map(bytes)
MELDS = st.lists(
    st.tuples(st.sampled_from(["5H 6H JK", "2S JK 4S", "3H JK JK 6H", "2C JK JK", "JK 3D 4D JK"]), st.integers(0, 1)),
    min_size=1,
    max_size=2,
)


def payable(free: State, owed: int) -> bool:
    """Whether so many jokers can be played from a state where none is owed by the rules: every order is tried."""
    if not owed:
        return True
    for action in legal_actions(free, 0):
        if isinstance(action, Discard | Pass):
            continue
        cards = b"" if isinstance(action, SwapJoker) else action.cards if isinstance(action, LayDown | LayOff) else b""
        if isinstance(action, SwapJoker) or JOKER in cards:
            then = step(free, 0, action).state
            still = owed + 1 if isinstance(action, SwapJoker) else max(0, owed - cards.count(JOKER))
            if not still or (then.turn == 0 and payable(then, still)):
                return True
    return False


@given(RULES, FEW, MELDS)
@settings(max_examples=150, deadline=None)
@pytest.mark.clause("B7")
def test_a_joker_is_had_just_where_it_can_be_played_again(
    rules: RuleSet, hand: bytes, melds: list[tuple[str, int]]
) -> None:
    """A swap is legal just where some order of lays and further swaps plays every joker that one then owes."""
    state = position(rules, [hand, "9C KD"], melds=melds)
    free = replace(state, rules=replace(rules, joker_swap=JokerSwap.TO_HAND))
    for swap in (action for action in legal_actions(free, 0) if isinstance(action, SwapJoker)):
        assert is_legal(state, 0, swap) == payable(step(free, 0, swap).state, 1), write_position(state)


@pytest.mark.clause("B7")
@pytest.mark.parametrize("jokers", [2, 5, 8])
def test_no_order_of_swaps_is_tried_twice(jokers: int) -> None:
    """Where no swap helps, each set of jokers that can be had is looked at once, in whatever order they would be."""
    rules = rules_of(
        packs=2, jokers=8, joker_swap="same_turn", lay_off="none", set_min=13, run_min=10, hand_size=20
    )  # fmt: skip
    suits = "CDHSCDHS"[:jokers]
    melds = [(" ".join(rank + suit if rank != "3" else "JK" for rank in "A23456789TJ"), 1) for suit in suits]
    state = position(rules, [" ".join(["KC", *("3" + suit for suit in suits)]), "9D"], melds=melds)
    debts._can_settle.cache_clear()
    seen = view(state, 0)
    assert seen.options is not None
    assert seen.options.swaps == ()
    assert 1 <= debts._can_settle.cache_info().misses <= 2**jokers
