import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.errors import BadReplay
from engine.notation import read_rules
from engine.presets import PRESETS
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
HUGE = "9" * 5000
"""More digits than Python makes an int of."""


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
        ({"seeds": ("xy",)}, "seeds[0]: not hex"),
        ({"seeds": (REPLAY.seeds[0].upper(), *REPLAY.seeds[1:])}, "seeds[0]: not hex"),
        ({"seeds": (REPLAY.seeds[0], f" {REPLAY.seeds[1]}")}, "seeds[1]: not hex"),
        ({"seeds": (REPLAY.seeds[0], REPLAY.seeds[1][:-2])}, "seeds: at least two"),
        ({"seeds": ("ab" * 32,)}, "seeds: at least two"),
        ({"rules": "whist"}, "rules: preset"),
        ({"rules": "basic jokers=["}, "rules: not a value of jokers"),
        ({"seats": 9}, "rules: seats"),
        ({"rules": "basic jokers=2 jokers=0"}, "rules: not a field that is given once"),
        ({"rules": f"basic jokers={HUGE}"}, "rules: not a value of jokers"),
        ({"rules": f"basic jokers={'[' * 100_000}{']' * 100_000}"}, "rules: not a value of jokers"),
        ({"rules": "basic jokers=\ud800"}, "rules: not a value of jokers"),
        ({"entropy": "0"}, "entropy: not hex"),
        ({"entropy": "AB"}, "entropy: not hex"),
        ({"entropy": "ab cd"}, "entropy: not hex"),
        ({"entropy": "ab\n"}, "entropy: not hex"),
        *(
            ({"moves": (move, *REPLAY.moves[1:])}, f"moves[0], {move[:80]!r}: not a")
            for move in (
                f"{HUGE} draw",
                "00 draw",
                "٣ draw",
                "8 draw",
                "-1 draw",
                " 0 draw",
                "0 draw\n",
                "",
                "0",
                f"0 take {HUGE}",
                "0 take 01",
                "0 take ٣",
                f"0 swap 5H on {HUGE}",
                f"0 lay off 5H on {HUGE}",
            )
        ),
        ({"moves": ("7 draw", *REPLAY.moves[1:])}, "moves[0], '7 draw': NOT_YOUR_TURN"),
    ],
)
def test_a_document_that_does_not_hold_says_where(changes: dict[str, object], said: str) -> None:
    """Whatever was changed in a replay is found, and the place is named."""
    assert failures(replace(REPLAY, **changes))[0].startswith(said)


@given(st.data())
@settings(max_examples=200)
def test_whatever_stands_in_a_document_is_judged(data: st.DataObject) -> None:
    """Any text in any place of a replay is found at fault, or makes no difference; nothing else comes of it."""
    field = data.draw(st.sampled_from(["rules", "entropy", "seeds", "moves", "digest"]))
    value = getattr(REPLAY, field)
    index = data.draw(st.integers(0, len(value) - 1)) if isinstance(value, tuple) else 0
    text = value[index] if isinstance(value, tuple) else value
    at, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    text = text[:at] + data.draw(st.text() | st.text("0123456789 =[]-acdhjkoprtwHSCDJKQAT")) + text[end:]
    changed = (*value[:index], text, *value[index + 1 :]) if isinstance(value, tuple) else text
    found = failures(replace(REPLAY, **{field: changed}))
    assert found or changed == value or field == "rules"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_document_holds_whatever_becomes_of_the_presets(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay says every field of its rules, so that a preset that is changed later changes no match."""
    replay, _ = played(replace(PRESETS[preset], deals=1), 2, 3)
    assert [word.partition("=")[0] for word in replay.rules.split()] == [preset, *RuleSet.__struct_fields__]
    other = PRESETS["pool300" if preset == "basic" else "basic"]
    monkeypatch.setattr("engine.faults.PRESETS", {**PRESETS, preset: other})
    assert read_rules(preset) == other
    assert failures(replay) == []


@pytest.mark.parametrize("rules", ["basic", "basic deals=1", "pool300 target=0 deals=1 seats=[2,2] jokers=4"])
def test_rules_that_leave_fields_out_are_the_presets(rules: str) -> None:
    """A document of an earlier release names a preset and what differs, and still reads and holds."""
    replay, _ = played(read_rules(rules), 2, 3)
    assert failures(replace(replay, rules=rules)) == []


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
