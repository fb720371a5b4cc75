"""New tables: those that only who has their code finds, and those that keep spectators away."""

from contextlib import aclosing
from itertools import count

import pytest

from engine.view import view
from service.games.codes import new_code
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.observe import observe
from service.games.opening import put_up
from service.games.read import find, get, list_open
from service.games.replay import get_replay
from service.games.seats import join, leave
from service.games.seen import SeenBatch, SeenTable
from service.store.keys import shard_of
from service.store.table import Table, TurnLimit
from tests.service.games.tables import (
    Clock,
    joined,
    new_request_id,
    opened,
    playing,
    refused,
    wanted_of,
    watched,
    watching,
)


async def test_a_private_table_is_found_by_its_code_alone(desk: Desk, other: Desk) -> None:
    """A private table is not listed; who types its code, as he likes, finds it on any server."""
    table = await opened(desk, 3, private=True)
    assert len(table.code) == 6
    assert (await list_open(other, size=10, cursor="")).tables == ()
    seen = await find(other, f"{table.code[:3].lower()}-{table.code[3:]}")
    assert seen == await get(desk, table.game, None)
    assert (await join(other, seen.game, display_name="Ann", seat=None, request_id="")).seat == 0
    assert (await find(desk, table.code)).version == 2


async def test_a_private_table_is_found_to_its_end(desk: Desk) -> None:
    """The code still leads to the table when the match has begun, and when it is over: who comes late may watch."""
    match = await playing(desk, private=True, deals=1)
    code = (await match.table()).code
    assert (await find(desk, code)).view == view(await match.state(), None)
    await match.to_the_end()
    assert (await find(desk, code)).game == match.game


async def test_a_code_that_no_table_has_is_not_found(desk: Desk) -> None:
    """A code that was never given, or whose table has expired, leads nowhere; no public table has one."""
    table = await opened(desk)
    assert table.code == ""
    with refused(GameReason.CODE_NOT_FOUND):
        await find(desk, "AAAAAA")


async def test_a_code_that_is_taken_is_not_given_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where chance draws a code that another table has, the new table gets another, and both are found."""
    first = await opened(desk, private=True)
    game = next(game for game in map(str, count()) if shard_of(game) == shard_of(first.game))
    codes = iter([first.code, first.code, another := new_code(desk, game)])
    monkeypatch.setattr("service.games.opening.new_code", lambda _desk, _game: next(codes))
    second = await put_up(desk, game, wanted_of(private=True))
    assert isinstance(second, Table)
    assert second.code == another
    for table in (first, second):
        assert (await find(desk, table.code)).game == table.game


async def test_a_retry_gives_the_same_code(desk: Desk, other: Desk) -> None:
    """A private table that is asked for again is the same one, with the code of the first answer."""
    request_id = new_request_id()
    first = await opened(desk, request_id=request_id, private=True)
    assert (await opened(other, request_id=request_id, private=True)).code == first.code
    with refused(GameReason.REQUEST_ID_REUSED):
        await opened(other, request_id=request_id)


async def test_spectators_may_be_kept_away(desk: Desk, clock: Clock) -> None:
    """Without a token one sees of such a table what a list shows of any: its seats and rules, and nothing played."""
    match = await playing(desk, 3, spectators=False, limit=TurnLimit(turn_ms=1000, bank_ms=5000, misses=3))
    first, _ = await match.turn()
    clock.now += 2000
    while (await match.turn())[0] == first:
        await match.move()
    seen = await get(desk, match.game, None)
    assert {seat.bank_ms for seat in seen.seats} == {5000}
    assert (await get(desk, match.game, match.tokens[0])).seats[first].bank_ms == 4000
    assert (seen.view, seen.last_deal, seen.deadline_ms, seen.entropy) == (None, None, None, b"")
    assert [seat.display_name for seat in seen.seats] == ["player 0", "player 1", "player 2"]
    for seat, token in enumerate(match.tokens):
        assert (await get(desk, match.game, token)).view == view(await match.state(), seat)


@pytest.mark.parametrize("seats", ["open", "playing", "over"])
async def test_nobody_watches_where_spectators_are_kept_away(desk: Desk, seats: str) -> None:
    """A stream or replay without a token is refused as that, whatever the table's state; a seat has both."""
    if seats == "open":
        game = (await opened(desk, 3, spectators=False)).game
        tokens = await joined(desk, game, 1)
    else:
        match = await playing(desk, 2, spectators=False, deals=1)
        game, tokens = match.game, match.tokens
        if seats == "over":
            await match.to_the_end()
    for after in (0, 1):
        with refused(GameReason.SPECTATORS_NOT_ALLOWED):
            async with aclosing(observe(desk, game, None, after=after, epoch="", heartbeat_s=60)) as stream:
                await anext(stream)
    with refused(GameReason.SPECTATORS_NOT_ALLOWED):
        await get_replay(desk, game, None)
    with refused(GameReason.TOKEN_INVALID):
        await get_replay(desk, game, "rst_unknown")
    async with aclosing(watching(desk, game, tokens[0])) as stream:
        assert isinstance(await anext(stream), SeenTable)
    if seats == "over":
        assert (await get_replay(desk, game, tokens[1])).scores
        assert len(await watched(desk, game, tokens[0], after=3)) > 3


async def test_who_leaves_sees_nothing_more_where_spectators_are_kept_away(desk: Desk) -> None:
    """Who gives up his seat is a spectator: his streams end before what came of it, and he gets no view."""
    match = await playing(desk, 3, spectators=False)
    told: list[object] = []
    async with aclosing(watching(desk, match.game, match.tokens[1])) as stream:
        told.append(await anext(stream))
        await match.move()
        told.append(await anext(stream))
        await leave(desk, match.game, match.tokens[1], request_id="")
        with pytest.raises(GameError, match="TOKEN_INVALID"):
            told.append(await anext(stream))
    assert [type(item) for item in told] == [SeenTable, SeenBatch]
    assert (await get(desk, match.game, None)).view is None
