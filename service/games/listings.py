"""Legal actions, page by page: the next page goes on where the one before has ended.

With jokers they can run to millions. So a list is made no further than it is asked for, and what has made it so far is
kept, of those who asked last, for the next page. Who asks for a page once more, or another server, has the actions
before it listed again, up to a number of them. Other calls get their turns meanwhile.
"""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from engine.actions import Action
from engine.legal import legal_actions
from engine.state import State
from service.recent import Recent
from service.store.errors import BadCursor

__all__ = ["Listings"]

_AT_ONCE: Final = 200
"""Actions that are listed before other calls get their turns: some milliseconds."""

_MOST_AGAIN: Final = 50_000
"""Actions that are listed again to find the place of a page: a second, in which others get their turns."""


class _Place(NamedTuple):
    """Where a page begins: the table's id and mark, the seat, and the number of actions before."""

    game: str
    mark: bytes
    seat: int
    start: int


class _Rest(NamedTuple):
    """What of a list is still to be given: its first action, and what makes the others."""

    first: Action
    others: Iterator[Action]


class Listings:
    """The lists asked for last, each as far as it has been given: at most `size` of them."""

    def __init__(self, size: int = 32) -> None:
        self._rests = Recent[_Place, _Rest](size)

    async def page(
        self, game: str, mark: bytes, match: State, seat: int, *, start: int, size: int
    ) -> tuple[list[Action], bool]:
        """At most `size` legal actions of the seat from the `start`-th on, and whether others follow.

        Raises the store's BadCursor where there are not so many, and where too many would have to be listed again.
        """
        place = _Place(game, mark, seat, start)
        rest = self._rests.get(place)
        self._rests.forget(place)  # what makes a list serves one call at a time
        if rest is None:
            others = legal_actions(match, seat)
            await _pass(others, start)
            first = next(others, None)
            if first is None and start:
                raise BadCursor(str(start))
        else:
            first, others = rest
        found: list[Action] = []
        while first is not None and len(found) < size:
            found += [first, *islice(others, min(_AT_ONCE, size - len(found)) - 1)]
            first = next(others, None)
            if len(found) < size:
                await asyncio.sleep(0)
        if first is not None:
            self._rests.put(place._replace(start=start + len(found)), _Rest(first, others))
        return found, first is not None


async def _pass(actions: Iterator[Action], count: int) -> None:
    """Leaves out so many actions. Raises BadCursor where there are fewer, or where they are too many."""
    left = count
    while left:
        passed = sum(1 for _ in islice(actions, min(_AT_ONCE, left))) if count <= _MOST_AGAIN else 0
        if not passed:
            raise BadCursor(str(count))
        left -= passed
        await asyncio.sleep(0)
