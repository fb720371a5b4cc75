"""Hands of gin rummy, and the deadwood that OpenSpiel's solver finds in them, for the tests of ours.

    .venv-bench/bin/python -m bench.record_hands        writes tests/engine/open_spiel_hands.txt

One hand a line: its cards, a colon, the points of its deadwood. Half are drawn at random, half from cards that lie
close together, of 7 to 13 cards each. (OpenSpiel leaves one card of a hand of 11 out where eleven is a hand and a draw;
so it is told of a game with larger hands.)
"""

import random
from pathlib import Path
from typing import Any

import pyspiel

from bench.solvers import random_hand, rich_hand
from engine.cards import write_cards

HANDS = Path(__file__).parents[1] / "tests" / "engine" / "open_spiel_hands.txt"
COUNT = 4000


def main() -> None:
    """Write the file anew; it comes out the same."""
    chance, utils = random.Random(20), pyspiel.gin_rummy.GinRummyUtils(13, 4, 20)
    lines = []
    for index in range(COUNT):
        cards = (rich_hand if index % 2 else random_hand)(chance, chance.randint(7, 13))
        lines.append(f"{write_cards(sorted(cards))}: {_deadwood(utils, cards)}\n")
    HANDS.write_text("".join(lines))
    print(f"{COUNT} hands in {HANDS.name}")


def _deadwood(utils: Any, cards: list[int]) -> int:
    """The least points left, by OpenSpiel; that its suits stand in another order makes no difference to the points."""
    return int(utils.min_deadwood(cards))


if __name__ == "__main__":
    main()
