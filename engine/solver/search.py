"""The cheapest way to take a hand apart: a best-first search (A*) that knows numbers only.

What is left is one int: a field for each kind of natural, above them one for each meld on the table that is not used
yet, and on top the jokers. Each field has a spare bit above its count, so that one subtraction takes a move's cards out
and one mask tells whether they were there. Fields are emptied from the lowest on: its card is left in the hand, at its
cost, or goes with a move that holds it. The search goes on from what has cost least, together with a bound on what it
must cost yet; so the first end that it comes to is the cheapest of all.

The bound: a natural that only jokers can save must be left, but for what the jokers may save: each at most as much as
the best move saves for a joker. It never falls by more than a step costs.

The number of states has no bound that is worth the name: it grows with jokers and equal cards as they would have to be
shared. So whoever asks says how much effort it is worth. When that is spent, the search makes for an end by the
shortest way: from the state that it has come to, always on from the one that has the fewest kinds of natural left.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from engine.solver.effort import Effort

__all__ = ["Leave", "Move", "Problem", "cheapest"]


class Move(NamedTuple):
    """Cards that go together."""

    uses: int
    """What it takes from what is left."""
    idle: int
    """Where any of these bits is still left, another move is no worse."""
    room: int
    """The jokers that it can take in, those that it uses included."""
    cost: int
    saves: int
    """What the bound counts for its naturals."""
    keeps: int
    """1 where its cards stay in the hand."""
    name: int


class Leave(NamedTuple):
    """What it costs to leave one natural in the hand, and how much of that the bound counts."""

    cost: int
    bound: int


class Problem(NamedTuple):
    """A hand to take apart."""

    left: int
    width: int
    """Bits to a field, the spare bit included."""
    leaves: tuple[Leave, ...]
    """By field."""
    moves: tuple[tuple[Move, ...], ...]
    """By the lowest field that they use."""
    melds: tuple[int, ...]
    """By the fields above the naturals: the jokers that a meld on the table takes in unless a move uses it."""
    jokers: int
    joker_cost: int
    """What it costs to leave one joker in the hand."""
    saved: int
    """The most that the bound lets one joker save."""
    kept: int
    """1 unless a card must still be kept in the hand."""


def cheapest(problem: Problem, effort: Effort) -> tuple[list[int], int]:
    """The names of the moves of a cheapest way, and the number of jokers that it leaves in the hand.

    Each move looked at is a step of the effort; when that is spent any way will do that seems cheap.
    """
    steps, saved, top = (
        _Steps(problem, effort),
        problem.saved,
        problem.width * (len(problem.leaves) + len(problem.melds)),
    )
    start = (problem.left, problem.kept)
    least, parents = {start: 0}, dict[_State, tuple[_State, int]]()
    heap = [(0, start, 0, steps.bound(problem.left))]
    while True:
        _, state, cost, bound = heappop(heap)
        if state[0] < 0:
            return _way(parents, state), state[1]
        if cost > least[state]:
            continue
        hurry = effort.spent
        for then, added, lifted, name in steps.after(*state):
            total = cost + added
            if total < least.get(then, _MORE):
                least[then] = total
                parents[then] = state, name
                counted = bound - lifted
                left = max(0, counted - saved * (then[0] >> top)) if then[0] >= 0 else 0
                ahead = steps.emptied(then[0]) * _MORE if hurry else 0
                heappush(heap, (total + left - ahead, then, total, counted))


_State = tuple[int, int]
"""What is left, -1 at the end; then the jokers that there is room for, times two, and 1 if a card has been kept.

At the end, the second number is that of the jokers left in the hand.
"""
_MORE = 1 << 62
_LEFT = -1
_A_STATE = 4
"""Steps of the effort that a state takes beside its moves."""


class _Steps:
    """What can be done from a state."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.problem = problem
        self.effort = effort
        fields = len(problem.leaves) + len(problem.melds) + 1
        self.naturals = (1 << problem.width * len(problem.leaves)) - 1
        self.spare = sum(1 << problem.width * field + problem.width - 1 for field in range(fields))

    def bound(self, left: int) -> int:
        """What the naturals that only jokers can save would cost."""
        width, mask = self.problem.width, (1 << self.problem.width) - 1
        return sum((left >> width * field & mask) * leave.bound for field, leave in enumerate(self.problem.leaves))

    def emptied(self, left: int) -> int:
        """How many fields of naturals are empty, from the lowest up; at the end one more than there are."""
        rest = left & self.naturals
        if left < 0 or not rest:
            return len(self.problem.leaves) + (left < 0)
        return ((rest & -rest).bit_length() - 1) // self.problem.width

    def after(self, left: int, side: int) -> Iterator[tuple[_State, int, int, int]]:
        """Each state that one step leads to, with the step's cost, what it takes from the bound, and its name."""
        rest = left & self.naturals
        if not rest:
            yield from self._end(left, side)
            return
        width, spare, most = self.problem.width, self.spare, self.problem.jokers
        field = ((rest & -rest).bit_length() - 1) // width
        cost, bound = self.problem.leaves[field]
        self.effort.spend(_A_STATE + len(self.problem.moves[field]))
        yield (left - (1 << width * field), side | 1), cost, bound, _LEFT
        for uses, idle, room, cost, bound, keeps, name in self.problem.moves[field]:
            then = left - uses
            if not then & spare and not then & idle:
                yield (then, min(most, (side >> 1) + room) << 1 | side & 1 | keeps), cost, bound, name

    def _end(self, left: int, side: int) -> Iterator[tuple[_State, int, int, int]]:
        """The end, with as many jokers laid as there is room for; one is kept where no other card has been."""
        problem = self.problem
        above = left >> problem.width * len(problem.leaves)
        room = side >> 1
        for unused in problem.melds:
            room += unused * (above & 1)
            above >>= problem.width
        kept = max(0, problem.jokers - room)
        if not kept and not side & 1:
            if not above:
                return
            kept = 1
        yield (-1, kept), kept * problem.joker_cost, 0, _LEFT


def _way(parents: dict[_State, tuple[_State, int]], state: _State) -> list[int]:
    """The names of the moves that led to the state."""
    names = []
    while state in parents:
        state, name = parents[state]
        if name != _LEFT:
            names.append(name)
    return names[::-1]
