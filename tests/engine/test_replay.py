import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from engine.errors import BadReplay
from engine.replay import Replay, failures, main, read_replay, recorded, replayed, write_move
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE, commitment
from engine.state import Phase, State, encode
from engine.step import next_deal, start, step
from tests.strategies import eager, rules_of, seeds, tables

RECORDED = sorted((Path(__file__).parents[1] / "replays").glob("*.json"))


def played(rules: RuleSet, seats: int, seed: int, entropy: bytes = b"") -> tuple[Replay, list[State]]:
    """A whole match played by chance, as its document and as the states that it went through."""
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    used = [chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)]
    states = [start(rules, seats, used[0], used[1], entropy).state]
    moves = []
    while states[-1].phase is not Phase.MATCH_OVER:
        state = states[-1]
        if state.phase is Phase.DEAL_OVER:
            used.append(chance.randbytes(SEED_SIZE))
            states.append(next_deal(state, used[-1]).state)
            continue
        action = eager(state, chance)
        moves.append(write_move(state.turn, action))
        states.append(step(state, state.turn, action).state)
    return recorded(rules, seats, used, moves, entropy), states


@pytest.mark.clause("G5")
@given(tables(), seeds)
@settings(max_examples=25)
def test_a_replay_goes_through_the_same_states_byte_for_byte(table: tuple[RuleSet, int], seed: int) -> None:
    """Seeds, rule set, entropy and accepted actions give every state of the match again, byte for byte."""
    rules, seats = table
    replay, states = played(replace(rules, deals=2), seats, seed, entropy=b"salt")
    again = read_replay(msgspec.json.encode(replay))
    assert [encode(taken.state) for taken in replayed(again)] == [encode(state) for state in states]
    assert failures(again) == []


@pytest.mark.clause("G5")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_matches_come_to_the_same_end(path: Path) -> None:
    """A match recorded by an earlier version of the engine still comes to the same events and scores."""
    assert failures(read_replay(path.read_bytes())) == []


def test_every_game_has_a_recorded_match() -> None:
    """There is a recorded match of every preset, and one with jokers swapped and entropy added."""
    assert {path.stem for path in RECORDED} == {
        "basic", "basic-jokers", "pool300", "pool500", "pool500-cutthroat", "rummy500",
    }  # fmt: skip
    assert any(" swap " in move for move in read_replay((RECORDED[0].parent / "basic-jokers.json").read_bytes()).moves)


@pytest.mark.clause("G6")
def test_entropy_changes_the_deal() -> None:
    """What the players add decides the deal together with the seed."""
    rules, seed = rules_of("basic"), bytes(SEED_SIZE)
    plain, salted = (start(rules, 2, seed, seed, entropy).state for entropy in (b"", b"salt"))
    assert plain.hands != salted.hands


REPLAY, _ = played(rules_of("basic"), 2, 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"moves": REPLAY.moves[:-1]}, "moves: the match is not over"),
        ({"moves": (*REPLAY.moves, "0 draw")}, f"moves[{len(REPLAY.moves)}], '0 draw': MATCH_OVER"),
        ({"moves": ("0 jump", *REPLAY.moves[1:])}, "moves[0], '0 jump': not an action"),
        ({"moves": ("draw", *REPLAY.moves[1:])}, "moves[0], 'draw': not a move"),
        ({"moves": ("1 draw", *REPLAY.moves[1:])}, "moves[0], '1 draw': NOT_YOUR_TURN"),
        ({"scores": (1, 2)}, "scores: the match comes to"),
        ({"digest": "00"}, "digest: the events come to"),
        ({"seeds": ("ab" * 32, *REPLAY.seeds[1:])}, "moves["),
        ({"seeds": (*REPLAY.seeds, "ab" * 32)}, "seeds: 3 for 1 deals"),
        ({"seeds": ("xy",)}, "seeds: "),
        ({"seeds": ("ab" * 32,)}, "seeds: at least two"),
        ({"rules": "whist"}, "rules: preset"),
        ({"rules": "basic jokers=["}, "rules: not a value of jokers"),
        ({"seats": 9}, "rules: seats"),
        ({"entropy": "0"}, "entropy: "),
    ],
)
def test_a_document_that_does_not_hold_says_where(changes: dict[str, object], said: str) -> None:
    """Whatever was changed in a replay is found, and the place is named."""
    assert failures(replace(REPLAY, **changes))[0].startswith(said)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", msgspec.json.encode(replace(REPLAY, format="rummyd-replay-9"))])
def test_what_is_no_replay_is_refused(data: bytes) -> None:
    """Bytes that are no replay, or one of another format, raise BadReplay."""
    with pytest.raises(BadReplay):
        read_replay(data)


def test_the_command_verifies_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m engine.replay` says of each file whether it holds, and names the seeds' hashes to compare."""
    good, bad, no = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "no.json"
    good.write_bytes(msgspec.json.encode(REPLAY))
    bad.write_bytes(msgspec.json.encode(replace(REPLAY, scores=(1, 2))))
    no.write_text("?")
    assert main([str(good)]) == 0
    assert commitment(bytes.fromhex(REPLAY.seeds[0])).hex() in capsys.readouterr().out
    assert main([str(good), str(bad)]) == 1
    assert "scores: the match comes to" in capsys.readouterr().out
    assert main([str(no)]) == 2
    assert main([]) == 2
