"""Cards, kinds of melds and ends of runs as the API writes them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rummy.v1 import card_pb2 as pb

from engine.actions import End, MeldKind
from engine.cards import JOKER, write_cards

__all__ = ["CARDS", "ENDS", "KINDS", "NUMBERS", "texts"]

CARDS: Final = tuple(write_cards((card,)) for card in range(JOKER + 1))
"""The text of each card: `7H`, `JK`."""

NUMBERS: Final[Mapping[str, int]] = MappingProxyType({name: card for card, name in enumerate(CARDS)})
"""The card of each text."""

KINDS: Final[Mapping[MeldKind | None, pb.MeldKind.ValueType]] = MappingProxyType(
    {None: pb.MELD_KIND_UNSPECIFIED, MeldKind.SET: pb.MELD_KIND_SET, MeldKind.RUN: pb.MELD_KIND_RUN}
)
"""The number of each kind; None: not said."""

ENDS: Final[Mapping[End | None, pb.End.ValueType]] = MappingProxyType(
    {None: pb.END_UNSPECIFIED, End.LOW: pb.END_LOW, End.HIGH: pb.END_HIGH}
)
"""The number of each end; None: not said."""


def texts(cards: Iterable[int]) -> list[str]:
    """The texts of some cards."""
    return [CARDS[card] for card in cards]
