"""Pages of legal actions: each goes on where the one before has ended, and none stops the server."""

import asyncio
from collections.abc import Iterator

import pytest

from engine.actions import Action
from engine.legal import legal_actions
from engine.state import State
from service.games.listings import Listings
from service.store.errors import BadCursor
from tests.strategies import position, rules_of

RICH = position(rules_of("basic", jokers=8), ["2C 3C 4C 5C 6C 7C 8C 9C TC JC JK JK", "9D"])
"""A position with hundreds of legal actions."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Action]:
    """Every action that any list has come to."""
    made: list[Action] = []

    def counted(state: State, seat: int) -> Iterator[Action]:
        for action in legal_actions(state, seat):
            made.append(action)
            yield action

    monkeypatch.setattr("service.games.listings.legal_actions", counted)
    return made


async def page(
    listings: Listings, start: int, size: int, *, game: str = "g", mark: bytes = b"1"
) -> tuple[list[Action], bool]:
    return await listings.page(game, mark, RICH, 0, start=start, size=size)


async def whole(listings: Listings, size: int, *, game: str = "g") -> list[Action]:
    found, more = await page(listings, 0, size, game=game)
    while more:
        then, more = await page(listings, len(found), size, game=game)
        found += then
    return found


@pytest.mark.parametrize("size", [1, 7, 200, 201, 1000, 10_000])
async def test_a_list_is_made_once_however_many_its_pages(made: list[Action], size: int) -> None:
    """Page after page the whole list comes, and each action of it is made once."""
    actions = list(legal_actions(RICH, 0))
    assert len(actions) > 500
    assert await whole(Listings(), size) == actions == made


async def test_a_page_may_be_asked_for_again(made: list[Action]) -> None:
    """A retry, or a server that has given no page yet, has the same answer, and lists what lies before once more."""
    listings, actions = Listings(), list(legal_actions(RICH, 0))
    await page(listings, 0, 300)
    for server in (listings, listings, Listings()):
        assert await page(server, 300, 100) == (actions[300:400], True)
    assert len(made) == 3 * 401


async def test_two_may_ask_for_a_page_at_once(made: list[Action]) -> None:
    """Calls for the same page, and for others, that come while it is made do not disturb each other."""
    listings, actions = Listings(), list(legal_actions(RICH, 0))
    await page(listings, 0, 10)
    asked = [page(listings, start, 300) for start in (10, 10, 0, 310)]
    for start, (found, more) in zip((10, 10, 0, 310), await asyncio.gather(*asked), strict=True):
        assert (found, more) == (actions[start : start + 300], True)


async def test_few_lists_are_kept(made: list[Action]) -> None:
    """Of many lists that were begun those asked for last are kept, and the others made again."""
    listings = Listings(size=2)
    for game in "abc":
        await page(listings, 0, 10, game=game)
    made.clear()
    for game in "cba":
        await page(listings, 10, 10, game=game)
    assert len(made) == 10 + 10 + 21
    assert len(listings._rests) == 2


async def test_another_version_has_a_list_of_its_own(made: list[Action]) -> None:
    """A list that was begun is gone on with at its own version of the table only."""
    listings = Listings()
    await page(listings, 0, 10)
    await page(listings, 10, 10, mark=b"2")
    assert len(made) == 11 + 21


async def test_a_page_that_was_never_named_is_refused(made: list[Action]) -> None:
    """Where the list ends before the page begins there is none; where too much comes before it nothing is listed."""
    listings, count = Listings(), len(list(legal_actions(RICH, 0)))
    for start in (count, count + 1):
        with pytest.raises(BadCursor):
            await page(listings, start, 10)
    made.clear()
    for start in (50_001, 999_999_999):
        with pytest.raises(BadCursor):
            await page(listings, start, 10)
    assert made == []


async def test_other_calls_get_their_turns() -> None:
    """While a long page is made, and while what lies before it is passed over, others go on."""
    for start, size in ((0, 1000), (600, 1)):
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        await page(Listings(), start, size)
        task.cancel()
        assert turns >= 3
