import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import JOKER, holds
from engine.errors import Refused
from engine.events import HandVoided
from engine.notation import write_position
from engine.rules import Foul
from engine.state import Phase, State, encode
from engine.status import status
from engine.step import step
from tools.move_counts import Moves, counted, differences, files, main, moves, read_moves

FILES = files()
by_name = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@pytest.mark.clause("G7")
@by_name
def test_the_ways_of_play_are_as_many_as_recorded(path: Path) -> None:
    """From each recorded position there are as many sequences of actions, and positions after them, as ever."""
    assert differences(read_moves(path)) == []


@by_name
def test_the_recorded_positions_are_whole(path: Path) -> None:
    """Each recorded position holds just the pack and keeps every invariant, and its counts reach the deep depth."""
    recorded = read_moves(path)
    assert status(recorded.state) == []
    assert len(recorded.levels) == recorded.deep >= recorded.quick
    assert all(sum(level.first.values()) in (0, level.sequences) for level in recorded.levels)


def test_everything_that_can_happen_is_counted() -> None:
    """The recorded sequences hold every kind of event and of a deal's end, to the quick depth most of them."""
    seen, deep = Counter[str](), Counter[str]()
    for recorded in map(read_moves, FILES):
        for depth, level in enumerate(recorded.levels, 1):
            (seen if depth <= recorded.quick else deep).update(level.events)
    ends = {f"deal_ended {end}" for end in ("out", "stock", "rounds", "idle", "stuck", "voided")}
    acts = {"drew", "took_pile", "stock_renewed", "laid_down", "laid_off", "joker_swapped", "discarded", "passed"}
    assert {*seen, *deep} == ends | acts | {"knocked", "hand_voided", "seat_out", "match_ended"}
    assert acts | {"knocked", "hand_voided", "seat_out"} <= seen.keys()


def nameable(state: State) -> Iterator[Action]:
    """Every action that can be named with the cards in hand: each bag of them, in each order where a joker is in it."""
    hand, melds = state.hands[state.turn], range(len(state.melds))
    bags = {bytes(bag) for size in range(1, len(hand) + 1) for bag in itertools.combinations(hand, size)}
    orders = {order for bag in bags for order in (itertools.permutations(bag) if JOKER in bag else [tuple(bag)])}
    yield from (Draw(), Pass())
    yield from (Take(count) for count in range(1, len(state.pile) + 1))
    yield from (Discard(card) for card in set(hand))
    yield from (LayDown(bytes(cards), kind) for cards, kind in itertools.product(orders, (None, *MeldKind)))
    yield from (LayOff(meld, cards, end) for meld, cards, end in itertools.product(melds, bags, (None, *End)))
    yield from (SwapJoker(meld, card) for meld, card in itertools.product(melds, set(hand)))


def outcomes(state: State) -> dict[bytes, State]:
    """The positions to which the actions lead that `step` accepts, fouls aside: tried one by one."""
    found = {}
    for action in nameable(state):
        try:
            then, events = step(state, state.turn, action)
        except Refused:
            continue
        if not any(isinstance(event, HandVoided) for event in events):
            found[encode(then)] = then
    return found


def plainly_counted(state: State, depth: int) -> tuple[int, set[bytes]]:
    """The sequences of so many actions, and the positions in which they end, by trying everything, again and again."""
    if depth == 0:
        return 1, {encode(state)}
    sequences, positions = 0, set[bytes]()
    for then in outcomes(state).values() if state.phase in (Phase.DRAW, Phase.PLAY) else ():
        more, ends = plainly_counted(then, depth - 1)
        sequences, positions = sequences + more, positions | ends
    return sequences, positions


@pytest.mark.clause("G7")
@by_name
def test_the_counts_agree_with_a_plain_enumeration(path: Path) -> None:
    """With few cards, to try every action that can be named finds just as many sequences and positions."""
    whole = read_moves(path).state
    few = 2 if whole.round == 1 and whole.rules.opening_draw else 4
    state = replace(
        whole, hands=tuple(hand[-few:] for hand in whole.hands), pile=whole.pile[-3:], melds=whole.melds[:3]
    )
    for depth, level in enumerate(counted(state, 4), 1):
        sequences, positions = plainly_counted(state, depth)
        assert (level.sequences, level.positions) == (sequences, len(positions)), write_position(state)


def test_a_foul_counts_only_where_it_is_one() -> None:
    """A foul of the list is an action while its seat may play and holds the cards, and where the rules know fouls."""
    recorded = next(moves_ for moves_ in map(read_moves, FILES) if moves_.fouls)
    state, fouls = recorded.state, recorded.foul_actions
    playing = step(state, state.turn, Draw()).state
    assert not any(played.state.voided for _, played in moves(state, fouls))
    held = [
        foul for foul in fouls if isinstance(foul, LayDown | LayOff) and holds(playing.hands[playing.turn], foul.cards)
    ]
    assert [action for action, played in moves(playing, fouls) if played.state.voided] == held != []
    strict = replace(playing, rules=replace(playing.rules, foul=Foul.REFUSE))
    assert {action for action, _ in moves(strict, fouls)} == {action for action, _ in moves(strict)}


def changed(tmp_path: Path, recorded: Moves) -> Path:
    path = tmp_path / "moves.json"
    path.write_bytes(msgspec.json.encode(recorded))
    return path


def test_a_difference_is_shown_by_first_action(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a count is not as recorded the check fails and names depth, recorded and found, and the first actions."""
    recorded = read_moves(FILES[0])
    level = recorded.levels[recorded.quick - 1]
    first = {**level.first, "draw": level.first["draw"] - 1}
    levels = list(recorded.levels)
    levels[recorded.quick - 1] = replace(level, sequences=level.sequences - 1, first=first)
    assert main(["check", str(changed(tmp_path, replace(recorded, levels=tuple(levels))))]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"     depth {recorded.quick}: sequences: {level.sequences - 1} recorded, {level.sequences} found",
        f"     depth {recorded.quick}: first draw: {first['draw']} recorded, {level.first['draw']} found",
    ]


def test_recording_makes_the_check_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that was never counted fails the check until it is recorded."""
    path = changed(tmp_path, replace(read_moves(FILES[0]), levels=(), quick=2, deep=3))
    assert main(["check", str(path)]) == 1
    assert main(["record", str(path)]) == 0
    assert main(["check", "--deep", str(path)]) == 0
    assert "0 of 2 depths are recorded" in capsys.readouterr().out


def test_a_count_is_followed_down_action_by_action(capsys: pytest.CaptureFixture[str]) -> None:
    """Dividing gives the sequences by first action, after some actions the rest of them."""
    recorded = read_moves(FILES[0])
    main(["divide", str(FILES[0])])
    by_first = capsys.readouterr().out.splitlines()
    assert by_first[1:] == [
        f"{count:10} {action}" for action, count in sorted(recorded.levels[recorded.quick - 1].first.items())
    ]
    main(["divide", str(FILES[0]), "--after", "draw"])
    assert capsys.readouterr().out.split()[2] == str(recorded.levels[recorded.quick - 1].first["draw"])


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is none, or with a position that is none, ends the check with code 2."""
    assert main(["check", str(tmp_path / "none.json")]) == 2
    assert main(["check", str(changed(tmp_path, replace(read_moves(FILES[0]), position=("phase=nowhere",))))]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
