"""Cases: one position, some actions, what must come of it; the rules as examples.

    python -m engine.cases PATH...        each a file or a folder of *.json; one line a case, exit 1 if any fails

A file holds a list of cases of this form; what `expect` does not name is not compared:

    {"id": "B6-1", "clause": "B6", "why": "...", "rules": {"preset": "basic", "jokers": 2},
     "position": {"hands": ["5D 9C", "2H"], "table": [{"cards": "7C 7D 7S", "owner": 1}], "stock": "7S",
                  "discard": "KC 5D", "turn": 0, "phase": "draw"},
     "do": [[0, {"draw": {"discard": 1}}], [0, {"discard": "5D"}]],
     "expect": {"refused": "SAME_CARD_AS_TAKEN"}}
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.actions import MeldKind
from engine.cards import write_cards
from engine.casefile import Case, CaseError, Dealt, Expect, action_of, position_of, read_case_file
from engine.errors import BadNotation, Refused
from engine.notation import read_cards, write_action
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State, encode
from engine.step import next_deal, step

__all__ = ["failures", "main"]


def failures(case: Case) -> list[str]:
    """What came otherwise than the case expects, a sentence each. Raises CaseError for a malformed case."""
    state = position_of(case)
    actions = [(seat, action_of(case, index)) for index, (seat, _) in enumerate(case.do)]
    for index, (seat, action) in enumerate(actions):
        before = encode(state)
        try:
            state, _ = step(state, seat, action)
        except Refused as refusal:
            if case.expect.refused is None or index < len(actions) - 1:
                return [f"do[{index}], {write_action(action)!r}, is refused: {refusal}"]
            kept = [] if encode(state) == before else ["the refusal changed the state"]
            named = case.expect.refused in ("*", refusal.reason)
            return kept if named else [f"refused: expected {case.expect.refused}, found {refusal}", *kept]
    if case.expect.refused:
        return [f"refused: expected {case.expect.refused}, and all was accepted"]
    return [f"{what}: expected {wanted}, found {found}" for what, wanted, found in _compared(case, state)]


def main(arguments: Sequence[str]) -> int:
    """Run the cases of the paths, a line each. The exit code: 0 all hold, 1 one fails, 2 nothing could be run."""
    run, failed = 0, 0
    try:
        for path in _files(arguments):
            for case in read_case_file(path):
                found = failures(case)
                run, failed = run + 1, failed + bool(found)
                print(f"{'FAIL' if found else 'ok  '} {case.id:8} {case.why}")
                print("".join(f"     {failure}\n" for failure in found), end="")
    except CaseError as error:
        print(f"malformed: {error}", file=sys.stderr)
        return 2
    print(f"{run} cases, {failed} failed")
    return 1 if failed else 0


def _files(arguments: Sequence[str]) -> Iterator[Path]:
    if not arguments:
        raise CaseError("no path is given")
    for argument in arguments:
        path = Path(argument)
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not found:
            raise CaseError(f"{path}: no *.json in it")
        yield from found


def _compared(case: Case, state: State) -> Iterator[tuple[str, object, object]]:
    """What differs: its name, what the case expects, what was found."""
    for what, found in _found(state).items():
        wanted = getattr(case.expect, what)
        if wanted is not None and wanted != found:
            yield what, wanted, found
    yield from _compared_cards(case, case.expect, state)


def _found(state: State) -> dict[str, object]:
    result, match = state.result, state.match
    return {
        "turn": state.turn,
        "phase": state.phase.value,
        "round": state.round,
        "scores": state.scores,
        "deal_scores": result.scores if result else None,
        "winners": result.winners if result else None,
        "deal_over": result is not None,
        "void": bool(result and result.void),
        "match_over": state.phase is Phase.MATCH_OVER,
        "pool": state.pool,
        "settlement": match.settlement if match else None,
        "voided": state.voided,
        "dealt": _dealt(state),
    }


def _dealt(state: State) -> Dealt | None:
    """What the next deal begins with; None where none follows."""
    if state.phase is not Phase.DEAL_OVER:
        return None
    then = next_deal(state, bytes(SEED_SIZE)).state
    return Dealt(hands=tuple(map(len, then.hands)), stock=len(then.stock), discard=len(then.pile), pool=then.pool)


def _compared_cards(case: Case, expect: Expect, state: State) -> Iterator[tuple[str, object, object]]:
    """Hands as bags, stock and pile in order, runs card by card, sets as bags."""
    if expect.hands is not None and [_bag(case, hand) for hand in expect.hands] != list(state.hands):
        yield "hands", list(expect.hands), [write_cards(hand) for hand in state.hands]
    for what, wanted, found in (("stock", expect.stock, state.stock), ("discard", expect.discard, state.pile)):
        if wanted is not None and _cards(case, wanted) != found:
            yield what, wanted, write_cards(found)
    if expect.table is not None:
        lying = [bytes(sorted(meld.cards)) if meld.kind is MeldKind.SET else meld.cards for meld in state.melds]
        kinds = [meld.kind for meld in state.melds]
        if len(expect.table) != len(lying) or any(
            (_bag(case, wanted) if kind is MeldKind.SET else _cards(case, wanted)) != cards
            for wanted, kind, cards in zip(expect.table, kinds, lying, strict=True)
        ):
            yield "table", list(expect.table), [write_cards(meld.cards) for meld in state.melds]


def _bag(case: Case, wanted: str) -> bytes:
    return bytes(sorted(_cards(case, wanted)))


def _cards(case: Case, wanted: str) -> bytes:
    try:
        return read_cards(wanted)
    except BadNotation as error:
        raise CaseError(f"{case.id}: expect: {error}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
