import re

import pytest

from engine.view import view
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.read import get, list_open
from service.games.seats import join, leave
from service.store.errors import BadCursor
from service.store.store import Options
from tests.service.games.tables import Clock, joined, opened, playing, refused


async def test_each_viewer_gets_his_view(desk: Desk) -> None:
    """A seat gets the match as it sees it, and who brings no token as a spectator does."""
    match = await playing(desk, 3)
    state = await match.state()
    for viewer, token in (*enumerate(match.tokens), (None, None)):
        seen = await get(desk, match.game, token)
        assert (seen.viewer, seen.view) == (viewer, view(state, viewer))


async def test_a_table_that_waits_has_no_view(desk: Desk) -> None:
    """Before the match there is nothing to see but the seats and the rules."""
    table = await opened(desk)
    (token,) = await joined(desk, table.game, 1)
    seen = await get(desk, table.game, token)
    assert (seen.view, seen.last_deal, seen.viewer) == (None, None, 0)


async def test_the_newest_table_is_got(desk: Desk, other: Desk) -> None:
    """A table is read from the store, never from what this server saw last."""
    match = await playing(desk)
    await get(other, match.game, None)
    acted = await match.move()
    assert (await get(other, match.game, None)).version == acted.version


@pytest.mark.parametrize("token", ["", "rst_unknown"])
async def test_a_wrong_token_gets_nothing(desk: Desk, token: str) -> None:
    """A token that the table does not know is refused, so that a player notices that he is none."""
    match = await playing(desk)
    with refused(GameReason.TOKEN_INVALID):
        await get(desk, match.game, token)


async def test_a_table_says_when_it_expires(desk: Desk, clock: Clock) -> None:
    """A table is kept for as long as its phase has it, counted from its last change."""
    table = await opened(desk)
    clock.now += 1000
    await joined(desk, table.game, 1)
    seen = await get(desk, table.game, None)
    assert seen.expires_ms == clock.now + Options().keep_open_s * 1000
    await joined(desk, table.game, 1)
    assert (await get(desk, table.game, None)).expires_ms == clock.now + Options().keep_playing_s * 1000


async def test_open_tables_are_listed_from_the_newest(desk: Desk, clock: Clock) -> None:
    """Tables that wait for players come newest first, page after page, and those that have begun do not."""
    games = []
    for _ in range(5):
        clock.now += 1
        games.append((await opened(desk)).game)
    await joined(desk, games[2], 2)
    pages: list[list[str]] = []
    cursor = ""
    while not pages or cursor:
        page = await list_open(desk, size=2, cursor=cursor)
        pages.append([table.game for table in page.tables])
        cursor = page.next_cursor
    assert [game for page in pages for game in page] == [games[4], games[3], games[1], games[0]]
    assert [len(page) for page in pages[:2]] == [2, 2]


async def test_a_listed_table_shows_what_a_spectator_sees(desk: Desk) -> None:
    """A list shows no more of a table than anybody may see, whoever sits there."""
    table = await opened(desk, 3)
    await joined(desk, table.game, 1)
    (seen,) = (await list_open(desk, size=10, cursor="")).tables
    assert seen == await get(desk, table.game, None)


async def test_a_cursor_that_no_list_gave_is_refused(desk: Desk) -> None:
    """A cursor that is none does not begin the list anew."""
    with pytest.raises(BadCursor):
        await list_open(desk, size=10, cursor="nonsense")


async def test_nothing_secret_is_seen(desk: Desk) -> None:
    """What is made to be shown holds no token, no hash of one, no secret of the table and no seed (G3)."""
    table = await opened(desk, 3)
    taken = await join(desk, table.game, display_name="Ann", seat=None, request_id="")
    (left,) = await joined(desk, table.game, 1)
    await leave(desk, table.game, left, request_id="")
    for token in (None, taken.token):
        seen = repr(await get(desk, table.game, token))
        hidden = [taken.token, left, *(repr(seat.token_hash) for seat in taken.table.seats if seat.token_hash)]
        hidden += [repr(table.secret), *map(repr, table.seeds or ())]
        assert [word for word in hidden if word in seen] == []
        assert not re.search("rst_|token|secret", seen)
