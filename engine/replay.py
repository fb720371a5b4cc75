"""A finished match as one portable document, and the proof of it: played again, it comes to the same end (G5, G6).

    python -m engine.replay FILE...         one line a file; exit 1 if any does not hold, 2 if any is no replay

The document is JSON, the same that the API gives for a finished game; docs/replay.md describes it for everybody:

    {"format": "rummyd-replay-1",
     "rules": "basic seats=[2,7] …",        a preset's name for people, then every field
     "seats": 2,
     "entropy": "",                         what the players added to the shuffle, in hex
     "seeds": ["5b1e…", "07aa…", "c3…"],    of each deal in turn, then of the one that would have followed, in hex
     "moves": ["0 draw", "0 discard 5H"],   each accepted action, after the seat that took it, in notation
     "scores": [12, -5],                    each seat's total
     "digest": "9f3c…"}                     SHA-256 of all events, each in notation and ended by a line feed, in hex

A field that `rules` leaves out, as older documents do, is the preset's. A seed's SHA-256 was published before its deal:
who kept it can compare.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from engine.actions import Action
from engine.errors import BadNotation, BadReplay, BadRules, Refused
from engine.notation import read_action, read_hex, read_rules, write_action, write_event, write_rules
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE, commitment
from engine.state import Phase, Step
from engine.step import next_deal, start, step

__all__ = ["FORMAT", "Replay", "failures", "main", "read_replay", "recorded", "replayed", "write_move"]

FORMAT: Final = "rummyd-replay-1"


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document; see the module for its fields."""

    format: str
    rules: str
    seats: int
    entropy: str = ""
    seeds: tuple[str, ...]
    moves: tuple[str, ...]
    scores: tuple[int, ...]
    digest: str


def recorded(rules: RuleSet, seats: int, seeds: Sequence[bytes], moves: Sequence[str], entropy: bytes = b"") -> Replay:
    """The replay of a match that was played by these seeds and moves. Raises BadReplay if it comes to no end so."""
    replay = Replay(
        format=FORMAT,
        rules=write_rules(rules, whole=True),
        seats=seats,
        entropy=entropy.hex(),
        seeds=tuple(seed.hex() for seed in seeds),
        moves=tuple(moves),
        scores=(),
        digest="",
    )
    scores, digest = _end(replay)
    return msgspec.structs.replace(replay, scores=scores, digest=digest)


def read_replay(data: bytes) -> Replay:
    """The replay that a JSON document holds. Raises BadReplay where it is none, or of another format."""
    try:
        replay = msgspec.json.decode(data, type=Replay)
    except msgspec.MsgspecError as error:
        raise BadReplay(f"no replay: {error}") from error
    if replay.format != FORMAT:
        raise BadReplay(f"a replay of format {replay.format!r}; this release reads {FORMAT!r}")
    return replay


def replayed(replay: Replay) -> Iterator[Step]:
    """Each step of the match, played again: the beginning of each deal, and each move.

    Raises BadReplay, with the place, for what cannot be read or is not allowed there.
    """
    seeds = _seeds(replay)
    last = _begun(replay, seeds)
    yield last
    for index, move in enumerate(replay.moves):
        try:
            last = step(last.state, *_read_move(move))
            yield last
        except (BadNotation, Refused) as error:
            raise BadReplay(f"moves[{index}], {move[:_MOST_TOLD]!r}: {error}") from error
        if last.state.phase is Phase.DEAL_OVER:
            if last.state.deal + 1 >= len(seeds):
                raise BadReplay(f"seeds: {len(seeds)} are too few for deal {last.state.deal + 1} and the one after it")
            last = next_deal(last.state, seeds[last.state.deal + 1])
            yield last
    if last.state.phase is not Phase.MATCH_OVER:
        raise BadReplay(f"moves: the match is not over after all {len(replay.moves)}")
    if len(seeds) != last.state.deal + 1:
        raise BadReplay(f"seeds: {len(seeds)} for {last.state.deal} deals and the one that would have followed")


def failures(replay: Replay) -> list[str]:
    """What comes otherwise than the document says, a sentence each; none where all of it holds."""
    try:
        scores, digest = _end(replay)
    except BadReplay as error:
        return [str(error)]
    found = []
    if scores != replay.scores:
        found.append(f"scores: the match comes to {list(scores)}, not {list(replay.scores)}")
    if digest != replay.digest:
        found.append(f"digest: the events come to {digest}, not {replay.digest}")
    return found


def write_move(seat: int, action: Action) -> str:
    """An accepted action as a replay holds it: `0 discard 5H`."""
    return f"{seat} {write_action(action)}"


def main(arguments: Sequence[str]) -> int:
    """Verify the replays in the files, a line each. The exit code: 0 all hold, 1 one does not, 2 one cannot be read."""
    status = 0
    for path in arguments:
        try:
            replay = read_replay(Path(path).read_bytes())
        except (BadReplay, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            status = 2
            continue
        found = failures(replay)
        print("\n".join(f"{path}: {failure}" for failure in found) if found else f"{path}: {_summary(replay)}")
        status = max(status, 1 if found else 0)
    if not arguments:
        print("usage: python -m engine.replay FILE...", file=sys.stderr)
    return status if arguments else 2


def _summary(replay: Replay) -> str:
    hashes = " ".join(commitment(bytes.fromhex(seed)).hex() for seed in replay.seeds[:-1])
    return f"holds: {len(replay.moves)} moves, {len(replay.seeds) - 1} deals; SHA-256 of their seeds: {hashes}"


def _end(replay: Replay) -> tuple[tuple[int, ...], str]:
    """The totals, and the digest of all events."""
    digest = hashlib.sha256()
    scores: tuple[int, ...] = ()
    for state, events in replayed(replay):
        scores = state.scores
        for event in events:
            digest.update(f"{write_event(event)}\n".encode())
    return scores, digest.hexdigest()


def _begun(replay: Replay, seeds: list[bytes]) -> Step:
    try:
        rules = read_rules(replay.rules)
        return start(rules, replay.seats, seeds[0], seeds[1], _hex("entropy", replay.entropy))
    except (BadNotation, BadRules) as error:
        raise BadReplay(f"rules: {error}") from error


def _seeds(replay: Replay) -> list[bytes]:
    seeds = [_hex(f"seeds[{index}]", seed) for index, seed in enumerate(replay.seeds)]
    if len(seeds) < 2 or any(len(seed) != SEED_SIZE for seed in seeds):
        raise BadReplay(f"seeds: at least two of {SEED_SIZE} bytes are needed")
    return seeds


def _hex(place: str, text: str) -> bytes:
    try:
        return read_hex(text)
    except BadNotation as error:
        raise BadReplay(f"{place}: {error}") from error


def _read_move(move: str) -> tuple[int, Action]:
    seat, _, action = move.partition(" ")
    if len(seat) != 1 or seat not in "01234567":
        raise BadNotation("a move", move)
    return int(seat), read_action(action)


_MOST_TOLD: Final = 80


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
