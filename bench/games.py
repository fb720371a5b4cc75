"""Two-player games played uniformly at random, the legal actions listed at every decision."""

import random
from typing import Any

import pyspiel
from rlcard.games.gin_rummy.game import GinRummyGame

from bench.measure import Work
from engine.legal import legal_actions
from engine.presets import PRESETS
from engine.shuffle import SEED_SIZE
from engine.state import Phase
from engine.step import start, step

__all__ = ["DECISIONS", "contestants"]

DECISIONS = 4000  # a round of each


def contestants() -> dict[str, Work]:
    """Everybody who plays, by name; a unit is a decision."""
    return {
        "rummyd, Basic Rummy": rummyd,
        "RLCard, gin rummy": _rlcard(),
        "OpenSpiel, gin rummy": _open_spiel(),
        "null": null,
    }


def rummyd(seed: int) -> int:
    """Basic Rummy for two."""
    chance, decisions = random.Random(seed), 0
    while decisions < DECISIONS:
        state = start(PRESETS["basic"], 2, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
        while state.phase is not Phase.MATCH_OVER:
            state = step(state, state.turn, chance.choice(list(legal_actions(state, state.turn)))).state
            decisions += 1
    return decisions


def null(seed: int) -> int:
    """No game: a choice among as many actions as a hand has cards."""
    chance, actions = random.Random(seed), range(11)
    for _ in range(DECISIONS):
        chance.choice(list(actions))
    return DECISIONS


def _rlcard() -> Work:
    """At game level: no environment, no observation beyond what its game makes by itself."""
    game: Any = GinRummyGame()

    def play(seed: int) -> int:
        chance, decisions = random.Random(seed), 0
        game.np_random.seed(seed)
        while decisions < DECISIONS:
            game.init_game()
            while not game.is_over():
                game.step(chance.choice(game.judge.get_legal_actions()))
                decisions += 1
        return decisions

    return play


def _open_spiel() -> Work:
    """As shipped, from Python. Its deals and draws are chance nodes; they are no decisions, but its time."""
    game: Any = pyspiel.load_game("gin_rummy")

    def play(seed: int) -> int:
        chance, decisions = random.Random(seed), 0
        while decisions < DECISIONS:
            state = game.new_initial_state()
            while not state.is_terminal():
                decisions += not state.is_chance_node()
                state.apply_action(chance.choice(state.legal_actions()))
        return decisions

    return play
