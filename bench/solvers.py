"""The best melds of ten cards: the engine's solver, RLCard's and OpenSpiel's."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pyspiel
from rlcard.games.base import Card
from rlcard.games.gin_rummy.utils.melding import get_best_meld_clusters

from bench.measure import Work
from engine.presets import PRESETS
from engine.solver import best

__all__ = ["contestants", "random_hand", "rich_hand"]

HANDS = 500  # a round of each
Hand = list[int]


def random_hand(chance: random.Random, size: int = 10) -> Hand:
    """Cards of one pack."""
    return chance.sample(range(52), size)


def rich_hand(chance: random.Random, size: int = 10) -> Hand:
    """Cards of one pack that lie close together, so that there is much to choose."""
    low = chance.randrange(8)
    return chance.sample([card for card in range(52) if low <= card % 13 < low + 6], size)


def contestants(hand: Callable[[random.Random], Hand]) -> dict[str, Work]:
    """Every solver, by name; a unit is a hand solved."""
    utils: Any = pyspiel.gin_rummy.GinRummyUtils(13, 4, 10)
    rules = PRESETS["basic"]

    def over(solve: Callable[[Any], object], convert: Callable[[Hand], object] = lambda cards: cards) -> Work:
        def work(seed: int) -> int:
            for cards in hands[seed % len(hands)]:
                solve(cards)
            return HANDS

        made = [random.Random(seed) for seed in range(20)]
        hands = [[convert(hand(chance)) for _ in range(HANDS)] for chance in made]
        return work

    return {
        "rummyd": over(lambda cards: best(rules, cards), bytes),
        "RLCard": over(get_best_meld_clusters, _rlcard_hand),
        "OpenSpiel (C++)": over(utils.best_meld_group),
        "null": over(lambda cards: cards),
    }


def _rlcard_hand(cards: Sequence[int]) -> list[Any]:
    return [Card("CDHS"[card // 13], "A23456789TJQK"[card % 13]) for card in cards]
