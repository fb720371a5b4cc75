"""Record a match of every game for tests/replays: `python tools/record_replays.py`.

They are refolded by every run of the tests, so that a change of the rules, the shuffle or the document shows. Record
anew only where such a change is meant, and say so in CHANGELOG.md.
"""

import random
from pathlib import Path

import msgspec
from msgspec.structs import replace

from engine.actions import LayDown, LayOff, SwapJoker
from engine.legal import legal_actions
from engine.presets import PRESETS
from engine.replay import Replay, recorded, write_move
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase
from engine.step import next_deal, start, step

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "replays"


def played(rules: RuleSet, seats: int, seed: int, entropy: bytes = b"") -> Replay:
    """A whole match in which every seat lays down what it can, and otherwise does anything that is legal."""
    chance = random.Random(seed)  # noqa: S311  to be recorded, not to be kept secret
    seeds = [chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)]
    state = start(rules, seats, seeds[0], seeds[1], entropy).state
    moves = []
    while state.phase is not Phase.MATCH_OVER:
        if state.phase is Phase.DEAL_OVER:
            seeds.append(chance.randbytes(SEED_SIZE))
            state = next_deal(state, seeds[-1]).state
            continue
        legal = list(legal_actions(state, state.turn))
        lays = [action for action in legal if isinstance(action, LayDown | LayOff | SwapJoker)]
        action = chance.choice(lays or legal)
        moves.append(write_move(state.turn, action))
        state = step(state, state.turn, action).state
    return recorded(rules, seats, seeds, moves, entropy)


def main() -> None:
    """Write one match of every preset, and one with jokers to be swapped, in which the players add to the shuffle."""
    matches = {name: played(rules, 3, 7) for name, rules in PRESETS.items()}
    swaps = replace(PRESETS["basic"], jokers=4, packs=2, deals=3)
    matches["basic-jokers"] = played(swaps, 4, 8, entropy=bytes.fromhex("c0ffee"))
    FOLDER.mkdir(exist_ok=True)
    for name, replay in matches.items():
        text = msgspec.json.format(msgspec.json.encode(replay), indent=1)
        (FOLDER / f"{name}.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
