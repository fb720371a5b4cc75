import protovalidate
import pytest
from rummy.v1 import action_pb2, card_pb2

from engine.actions import End, MeldKind
from engine.cards import JOKER
from service.api.convert.cards import CARDS, ENDS, KINDS, NUMBERS, texts


def test_every_card_has_a_text_of_its_own() -> None:
    """The 52 naturals and the joker have each a text, and the text leads back to the card."""
    assert len(set(CARDS)) == JOKER + 1 == len(NUMBERS)
    assert [NUMBERS[name] for name in CARDS] == list(range(JOKER + 1))
    assert (CARDS[0], CARDS[51], CARDS[JOKER]) == ("AC", "KS", "JK")


@pytest.mark.parametrize("card", CARDS)
def test_every_card_is_one_to_the_protos(card: str) -> None:
    """The pattern that requests are held to lets every card pass."""
    protovalidate.validate(action_pb2.Action(discard=action_pb2.Action.Discard(card=card)))


@pytest.mark.parametrize("text", ["", "1C", "10C", "7h", "CJ", "JKX", "XJK", "A", "7H ", "\n7H", "7H\n", "jk"])
def test_nothing_else_is_a_card(text: str) -> None:
    """What is no card by its text is turned away by the pattern, before it is looked up."""
    assert text not in NUMBERS
    with pytest.raises(protovalidate.ValidationError):
        protovalidate.validate(action_pb2.Action(discard=action_pb2.Action.Discard(card=text)))


def test_cards_keep_their_order() -> None:
    """Several cards are written one after the other: a run's order says what a joker stands for."""
    assert texts(bytes([NUMBERS[name] for name in ("3H", "JK", "5H")])) == ["3H", "JK", "5H"]


def test_every_kind_and_end_has_its_number() -> None:
    """No member is without a number and no number without a member; not to say it is one of them."""
    for kind in (None, *MeldKind):
        assert card_pb2.MeldKind.Name(KINDS[kind]) == f"MELD_KIND_{kind.name if kind else 'UNSPECIFIED'}"
    for end in (None, *End):
        assert card_pb2.End.Name(ENDS[end]) == f"END_{end.name if end else 'UNSPECIFIED'}"
    assert (len(KINDS), len(ENDS)) == (len(card_pb2.MeldKind.values()), len(card_pb2.End.values()))
