"""States encoded and decoded, single steps and judgements in each game."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from bench.measure import Work
from engine.actions import Action
from engine.cards import JOKER
from engine.legal import is_legal, legal_actions
from engine.presets import PRESETS
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State, decode, encode
from engine.step import next_deal, start, step

__all__ = ["coders", "judges", "steppers"]

GAMES = ("basic", "rummy500", "pool500")
MOMENTS = 2000  # a round of each
Moment = tuple[State, int, Action]


def coders() -> dict[str, Work]:
    """A state of each game encoded, and decoded; a unit is a state."""
    found: dict[str, Work] = {}
    for game in GAMES:
        states = [state for state, _, _ in _moments(game)]
        found[f"encode, {game}"] = _over(encode, states)
        found[f"decode, {game}"] = _over(decode, [encode(state) for state in states])
    return {**found, "null": _over(lambda value: value, range(MOMENTS))}


def steppers() -> dict[str, Work]:
    """A step of each game; a unit is a legal action played."""
    played = {f"step, {game}": _over(lambda moment: step(*moment), _moments(game)) for game in GAMES}
    return {**played, "null": _over(lambda value: value, range(MOMENTS))}


def judges() -> dict[str, Work]:
    """One action judged: of the matches, and of a dozen cards of a suit with two jokers; a unit is a judgement."""
    judged = {f"is_legal, {game}": _over(lambda moment: is_legal(*moment), _moments(game)) for game in GAMES}
    rich = _rich()
    lays = [(rich, rich.turn, action) for action in legal_actions(rich, rich.turn)]
    return {**judged, f"is_legal, {len(lays):,} to choose from": _over(lambda moment: is_legal(*moment), lays)} | {
        "null": _over(lambda value: value, range(MOMENTS))
    }


def _rich() -> State:
    """A seat of Pool Rummy 500 that holds twelve cards of a suit and two jokers, after its draw."""
    dealt = start(PRESETS["pool500"], 2, bytes(SEED_SIZE), bytes(SEED_SIZE)).state
    hands = [bytes(sorted((*range(12), JOKER, JOKER)))] * 2
    return replace(dealt, phase=Phase.PLAY, hands=tuple(hands))


def _over(do: Callable[[Any], object], values: Sequence[Any]) -> Work:
    def work(_: int) -> int:
        for value in values:
            do(value)
        return len(values)

    return work


def _moments(game: str) -> list[Moment]:
    """States of matches played at random, each with what was then done."""
    chance, found = random.Random(game), list[Moment]()
    while len(found) < MOMENTS:
        state = start(PRESETS[game], 2, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
        while state.phase is not Phase.MATCH_OVER and len(found) < MOMENTS:
            if state.phase is Phase.DEAL_OVER:
                state = next_deal(state, chance.randbytes(SEED_SIZE)).state
                continue
            action = chance.choice(list(legal_actions(state, state.turn)))
            found.append((state, state.turn, action))
            state = step(*found[-1]).state
    return found
