"""Move counts: how many ways of play there are from a fixed position, and to how many different positions they lead.

    python tools/move_counts.py check  [--deep] [FILE...]       all of tests/moves by default; exit 1 where one differs
    python tools/move_counts.py divide FILE [--depth N] [--after "draw; lay down 3H 4H 5H"]
    python tools/move_counts.py record FILE...                  counts anew and writes what it found into the file

A file holds a position in the notation of `engine.notation`, and for each depth what was counted when it was recorded:
the *sequences* of so many actions, the different *positions* in which they end (by `encode`), and what the last action
brought, by event. A deal that is over goes no further. To the quick depth is counted in `make test`, to the deep one in
`make soak`; for these two the sequences are kept by first action, too. Where a count differs, `check` shows for which
first actions it does; `divide` with the action added to `--after` follows it down to the very position.

Where fouls void the hand (P15) there is no list of them: each of the file's `fouls` counts as an action wherever
playing it is a foul, and nowhere else.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from engine.actions import Action
from engine.errors import BadNotation, Refused
from engine.events import DealEnded, Event, HandVoided, TurnStarted
from engine.legal import legal_actions
from engine.notation import read_action, read_position, write_action
from engine.state import Phase, State, Step, encode
from engine.step import step

__all__ = ["FOLDER", "Level", "Moves", "counted", "differences", "files", "main", "moves", "read_moves"]

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "moves"


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was counted at one depth; `events` and `first` (by first action) count sequences."""

    sequences: int
    positions: int
    events: dict[str, int]
    first: dict[str, int] = {}


class Moves(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file of move counts; `levels` holds those of depth 1, 2, … to the deep one."""

    why: str
    quick: int
    deep: int
    position: tuple[str, ...]
    fouls: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def state(self) -> State:
        """The position. Raises BadNotation."""
        return read_position(" ".join(self.position))

    @property
    def foul_actions(self) -> list[Action]:
        """The fouls as actions. Raises BadNotation."""
        return [read_action(foul) for foul in self.fouls]


def files() -> list[Path]:
    """The recorded files."""
    return sorted(FOLDER.glob("*.json"))


def read_moves(path: Path) -> Moves:
    """What the file holds. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(path.read_bytes(), type=Moves)


def moves(state: State, fouls: Sequence[Action] = ()) -> Iterator[tuple[Action, Step]]:
    """Every action that the position allows, fouls among the given ones included, and what comes of it."""
    if state.phase not in (Phase.DRAW, Phase.PLAY):
        return
    for action in legal_actions(state, state.turn):
        yield action, step(state, state.turn, action)
    for action in fouls:
        try:
            played = step(state, state.turn, action)
        except Refused:
            continue
        if any(isinstance(event, HandVoided) for event in played.events):
            yield action, played


def counted(state: State, depth: int, fouls: Sequence[Action] = ()) -> Iterator[Level]:
    """What there is at depth 1, 2 … `depth`. A position met again is played on once, for all that lead to it."""
    here: list[_Node] = [(state, Counter({"": 1}))]
    for deep in range(1, depth + 1):
        first, events, seen = Counter[str](), Counter[str](), set[bytes]()
        following: dict[bytes, _Node] = {}
        for before, ways in here:
            total = ways.total()
            for action, (then, new) in moves(before, fouls):
                led = ways if deep > 1 else Counter({write_action(action): 1})
                first.update(led)
                for tag in _tags(new):
                    events[tag] += total
                key = blake2b(encode(then), digest_size=16).digest()
                seen.add(key)
                if deep < depth:
                    following.setdefault(key, (then, Counter()))[1].update(led)
        told = dict(sorted(events.items()))
        yield Level(sequences=first.total(), positions=len(seen), events=told, first=dict(first))
        here = list(following.values())


def differences(recorded: Moves, *, deep: bool = False) -> list[str]:
    """What is counted otherwise than recorded, a line each, to the quick or to the deep depth."""
    depth = recorded.deep if deep else recorded.quick
    if len(recorded.levels) < depth:
        return [f"{len(recorded.levels)} of {depth} depths are recorded"]
    lines = []
    for number, found in enumerate(counted(recorded.state, depth, recorded.foul_actions), 1):
        old = recorded.levels[number - 1]
        pairs = [("sequences", old.sequences, found.sequences), ("positions", old.positions, found.positions)]
        pairs += _paired("", old.events, found.events)
        pairs += _paired("first ", old.first, found.first) if old.first else []
        lines += [f"depth {number}: {what}: {was} recorded, {now} found" for what, was, now in pairs if was != now]
    return lines


def main(arguments: Sequence[str]) -> int:
    """What the module says. The exit code: 0 all is as recorded, 1 something is not, 2 something cannot be read."""
    asked = _parser().parse_args(arguments)
    try:
        return _COMMANDS[asked.command](asked)
    except (OSError, msgspec.MsgspecError, BadNotation, Refused) as error:
        print(error, file=sys.stderr)
        return 2


def _check(asked: argparse.Namespace) -> int:
    failed = 0
    for path in asked.files or files():
        recorded = read_moves(path)
        found = differences(recorded, deep=asked.deep)
        failed += bool(found)
        print(f"{'FAIL' if found else 'ok  '} {path.stem:20} {recorded.why}")
        print("".join(f"     {line}\n" for line in found), end="")
    return 1 if failed else 0


def _record(asked: argparse.Namespace) -> int:
    for path in asked.files:
        old = read_moves(path)
        levels = list(counted(old.state, old.deep, old.foul_actions))
        kept = [
            level if depth in (old.quick, old.deep) else msgspec.structs.replace(level, first={})
            for depth, level in enumerate(levels, 1)
        ]
        new = msgspec.structs.replace(old, levels=tuple(kept))
        path.write_bytes(msgspec.json.format(msgspec.json.encode(new), indent=1) + b"\n")
        print(f"{path.stem:20} {sum(level.positions for level in levels)} positions")
    return 0


def _divide(asked: argparse.Namespace) -> int:
    (path,) = asked.files
    recorded = read_moves(path)
    state, fouls = recorded.state, recorded.foul_actions
    led = [read_action(action.strip()) for action in asked.after.split(";") if action.strip()]
    for action in led:
        state = step(state, state.turn, action).state
    depth = asked.depth or recorded.quick - len(led)
    *_, level = counted(state, depth, fouls)
    old = recorded.levels[depth - 1].first if not led and depth <= len(recorded.levels) else {}
    print(f"depth {depth}: {level.sequences} sequences, {level.positions} positions")
    for name, was, now in sorted(_paired("", old, level.first)):
        print(f"{now:10} {name}" + (f"      {was} recorded" if old and was != now else ""))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="move_counts", description="Counts of the ways of play from fixed positions.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="count again, and show what differs from what is recorded")
    check.add_argument("files", nargs="*", type=Path, metavar="FILE")
    check.add_argument("--deep", action="store_true", help="to the deep depth: minutes instead of seconds")
    record = commands.add_parser("record", help="count, and write it into the file")
    record.add_argument("files", nargs="+", type=Path, metavar="FILE")
    divide = commands.add_parser("divide", help="the sequences by their first action")
    divide.add_argument("files", nargs=1, type=Path, metavar="FILE")
    divide.add_argument("--depth", type=int, help="of all sequences, from here; the quick depth by default")
    divide.add_argument("--after", default="", help="actions to play first, with ; between them")
    return parser


def _paired(prefix: str, old: Mapping[str, int], new: Mapping[str, int]) -> list[tuple[str, int, int]]:
    return [(prefix + name, old.get(name, 0), new.get(name, 0)) for name in {**old, **new}]


def _tags(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, DealEnded):
            yield f"deal_ended {event.end}"
        elif not isinstance(event, TurnStarted):
            yield str(event.__struct_config__.tag)


_Node = tuple[State, Counter[str]]
"""A position, and how many sequences lead to it, by first action."""

_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {"check": _check, "record": _record, "divide": _divide}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
