import random
from typing import get_args

import protovalidate
from hypothesis import given
from hypothesis import strategies as st
from rummy.v1 import action_pb2 as pb

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import JOKER
from engine.legal import legal_actions
from engine.rules import RuleSet
from service.api.convert.actions import action_from, action_to
from tests.strategies import any_legal, moments, seeds, tables

cards = st.lists(st.integers(0, JOKER), min_size=1, max_size=14).map(bytes)
melds = st.integers(0, 100)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Draw),
    st.builds(Take, st.integers(1, 120)),
    st.builds(LayDown, cards, st.none() | st.sampled_from(MeldKind)),
    st.builds(LayOff, melds, cards, st.none() | st.sampled_from(End)),
    st.builds(SwapJoker, melds, st.integers(0, JOKER - 1)),
    st.builds(Discard, st.integers(0, JOKER)),
    st.builds(Pass),
)


@given(actions)
def test_an_action_comes_back_as_it_went(action: Action) -> None:
    """Every action is written as a message that the protos accept, also as bytes, and read back as the same action."""
    message = action_to(action)
    protovalidate.validate(message)
    assert action_from(pb.Action.FromString(message.SerializeToString())) == action


def test_every_kind_of_action_has_its_message() -> None:
    """The API has the engine's actions and no others, each under its own name."""
    samples = (Draw(), Take(1), LayDown(b"\0"), LayOff(0, b"\0"), SwapJoker(0, 1), Discard(0), Pass())
    assert {type(sample) for sample in samples} == set(get_args(Action))
    written = [action_to(sample).WhichOneof("action") for sample in samples]
    assert sorted(map(str, written)) == sorted(field.name for field in pb.Action.DESCRIPTOR.oneofs[0].fields)


@given(tables(), seeds)
def test_whatever_is_legal_can_be_asked_for(table: tuple[RuleSet, int], seed: int) -> None:
    """Every action that is listed to a player is a message that he may send back as it stands (G7)."""
    rules, seats = table
    for state, _ in moments(rules, seats, seed, choose=any_legal, most=12):
        for action in random.Random(seed).sample(found := list(legal_actions(state, state.turn)), min(8, len(found))):  # noqa: S311
            message = action_to(action)
            protovalidate.validate(message)
            assert action_from(message) == action
