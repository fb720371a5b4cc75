"""Rematches: one follow-up table for all who played."""

import asyncio
from itertools import permutations

import pytest

from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.observe import Observed
from service.games.quick_join import quick_join
from service.games.read import get, list_open
from service.games.rematch import rematch
from service.games.seats import Joined, add_bot, join, leave, start
from service.games.seen import SeenTable
from service.games.tick import tick
from service.store.table import Phase, TurnLimit
from tests.service.games.tables import (
    BusyStore,
    Clock,
    Match,
    joined,
    new_request_id,
    opened,
    playing,
    refused,
    stored,
    wanted_of,
    watched,
)

LIMIT = TurnLimit(turn_ms=30_000, bank_ms=5_000, misses=3)


async def finished(desk: Desk, seat_count: int = 3, preset: str = "basic", **wanted: object) -> Match:
    """A match that was played to its end."""
    match = await playing(desk, seat_count, preset, round_limit=1, deals=1, **wanted)
    await match.to_the_end()
    return match


async def again(desk: Desk, match: Match, seat: int, *, entropy: str = "", request_id: str = "") -> Joined:
    """A seat of the match plays again."""
    return await rematch(desk, match.game, match.tokens[seat], entropy=entropy, request_id=request_id)


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_all_who_played_meet_at_one_table(desk: Desk, other: Desk, order: tuple[int, ...]) -> None:
    """In whatever order and on whatever server they come, each has his old seat and name, and the last one begins."""
    match = await finished(desk)
    came = [await again((desk, other)[number % 2], match, seat) for number, seat in enumerate(order)]
    assert [one.seat for one in came] == list(order)
    (game,) = {one.table.game for one in came}
    assert game != match.game
    table = await stored(desk, game)
    assert [seat.display_name for seat in table.seats] == ["player 0", "player 1", "player 2"]
    assert table.phase is Phase.PLAYING
    assert [(await get(desk, game, one.token)).viewer for one in came] == list(order)


async def test_those_who_come_at_once_meet_too(desk: Desk, other: Desk) -> None:
    """Calls in parallel, each sent twice, make one table and one seat for each player."""
    match = await finished(desk, 4)
    ids = [new_request_id() for _ in range(4)]
    came = await asyncio.gather(
        *(again((desk, other)[number % 2], match, number // 2, request_id=ids[number // 2]) for number in range(8))
    )
    assert len({one.table.game for one in came}) == 1
    assert [one.seat for one in came] == [number // 2 for number in range(8)]
    assert len({one.token for one in came}) == 4
    table = await stored(desk, came[0].table.game)
    assert (table.phase, table.version) == (Phase.PLAYING, 5)


async def test_the_next_table_is_as_the_last_one_was(desk: Desk) -> None:
    """Rules, limit and say on spectators stay; secrets and seeds are new; and it is private, with a code to tell."""
    match = await finished(desk, 2, "rummy500", jokers=1, limit=LIMIT, spectators=False)
    old, new = await match.table(), (await again(desk, match, 1)).table
    for field in ("rules", "preset", "limit", "spectators", "display_name"):
        assert getattr(new, field) == getattr(old, field)
    assert (len(new.seats), new.phase, new.likeness, len(new.code)) == (2, Phase.OPEN, "", 6)
    assert new.secret != old.secret
    assert new.seats[1].token_hash not in {seat.token_hash for seat in old.seats}
    assert (await list_open(desk, size=10, cursor="")).tables == ()
    wanted = wanted_of(2, "rummy500", jokers=1, round_limit=1, deals=1, limit=LIMIT, spectators=False)
    assert (await quick_join(desk, wanted, display_name="Eve", request_id="")).table.game != new.game


async def test_nothing_changes_at_the_old_table(desk: Desk) -> None:
    """The match that is over stays as it was: its watchers are told nothing new, and it expires when it would have."""
    match = await finished(desk)
    before, told = await match.table(), await watched(desk, match.game, after=3)
    await again(desk, match, 0)
    assert await match.table() == before
    assert await watched(desk, match.game, after=3) == told


async def test_the_seats_of_the_old_table_are_told_of_the_new_one(desk: Desk) -> None:
    """Once one has called, the others find the table's name where they look, and nobody else does."""
    match = await finished(desk)
    assert [(await get(desk, match.game, token)).rematch for token in match.tokens] == ["", "", ""]
    game = (await again(desk, match, 2)).table.game
    for token, name in (*((token, game) for token in match.tokens), (None, "")):
        seen: list[Observed] = [await get(desk, match.game, token), *await watched(desk, match.game, token)]
        assert [one.rematch for one in seen if isinstance(one, SeenTable)] == [name, name]
    assert (await get(desk, game, None)).rematch == ""


async def test_bots_sit_there_already(desk: Desk, clock: Clock) -> None:
    """A bot has its seat at the next table from the beginning; one player against bots starts by his call."""
    table = await opened(desk, 3, round_limit=1)
    tokens = await joined(desk, table.game, 1)
    for seat in (1, 2):
        await add_bot(desk, table.game, tokens[0], display_name=f"Hal {seat}", seat=seat, request_id="")
    match = Match(desk, table.game, tokens)
    while (await match.table()).phase is Phase.PLAYING:
        if (await match.state()).turn == 0:
            await match.move()
        clock.now += 2 * desk.think_ms
        await tick(desk, match.game)
    one = await again(desk, match, 0)
    assert [(seat.bot, seat.display_name) for seat in one.table.seats] == [
        (False, "player 0"),
        (True, "Hal 1"),
        (True, "Hal 2"),
    ]
    assert one.table.phase is Phase.PLAYING


async def test_who_does_not_come_is_not_waited_for(desk: Desk) -> None:
    """The others start without him, and then he is told that it has begun."""
    match = await finished(desk)
    first, last = await again(desk, match, 0), await again(desk, match, 2)
    started = await start(desk, first.table.game, last.token, request_id="")
    assert [seat.display_name for seat in started.seats] == ["player 0", "player 2"]
    with refused(GameReason.GAME_NOT_OPEN):
        await again(desk, match, 1)
    assert (await again(desk, match, 2)).seat == 1, "who is there finds his seat by its number of now"


async def test_a_rematch_can_follow_a_rematch(desk: Desk) -> None:
    """After the next match there is another, and so on, each at a table of its own."""
    match, games = await finished(desk, 2), set()
    for _ in range(3):
        games.add(match.game)
        came = [await again(desk, match, seat) for seat in (1, 0)]
        match = Match(desk, came[0].table.game, [came[1].token, came[0].token])
        await match.to_the_end()
    assert len({*games, match.game}) == 4


async def test_a_retry_gives_the_same_seat_and_token(desk: Desk, other: Desk) -> None:
    """The call sent again, with its request id or a new one, changes nothing, also when the match has long begun."""
    match, request_id = await finished(desk, 2), new_request_id()
    first = await again(desk, match, 1, entropy="dice", request_id=request_id)
    for retried in (request_id, request_id.upper(), new_request_id(), ""):
        one = await again(other, match, 1, entropy="dice", request_id=retried)
        assert (one.seat, one.token, one.table) == (1, first.token, first.table)
    begun = await again(desk, match, 0)
    one = await again(other, match, 1, entropy="dice", request_id=request_id)
    assert (one.token, one.table) == (first.token, begun.table)


async def test_a_request_id_is_for_one_rematch(desk: Desk) -> None:
    """A request id that comes with another payload is refused; another seat may happen to use the same."""
    match, request_id = await finished(desk), new_request_id()
    first = await again(desk, match, 1, request_id=request_id)
    with refused(GameReason.REQUEST_ID_REUSED):
        await again(desk, match, 1, entropy="dice", request_id=request_id)
    assert await stored(desk, first.table.game) == first.table
    assert (await again(desk, match, 0, request_id=request_id)).seat == 0


async def test_a_stranger_who_was_told_the_code_may_sit_down(desk: Desk) -> None:
    """Who takes a seat that another had before leaves that one the lowest free seat."""
    match = await finished(desk, 4)
    game = (await again(desk, match, 3)).table.game
    await join(desk, game, display_name="Eve", seat=2, request_id="")
    assert (await again(desk, match, 2)).seat == 0
    assert (await again(desk, match, 0)).seat == 1
    names = [seat.display_name for seat in (await stored(desk, game)).seats]
    assert names == ["player 2", "player 0", "Eve", "player 3"]


async def test_who_leaves_the_next_table_may_come_back_by_another_call(desk: Desk) -> None:
    """A retry of the call that took the seat takes it no more when it was left; a new call does, with a new token: the
    one that was revoked stays so.
    """
    match, request_id = await finished(desk), new_request_id()
    first = await again(desk, match, 1, request_id=request_id)
    await leave(desk, first.table.game, first.token, request_id="")
    with refused(GameReason.TOKEN_INVALID):
        await again(desk, match, 1, request_id=request_id)
    second = await again(desk, match, 1, request_id=new_request_id())
    assert (second.seat, second.token) == (1, (await again(desk, match, 1)).token)
    assert second.token != first.token
    with refused(GameReason.TOKEN_INVALID):
        await leave(desk, first.table.game, first.token, request_id="")


async def test_a_join_cannot_ask_for_the_token_of_a_rematch(desk: Desk) -> None:
    """Tokens of places that are kept for the seats of the old match cannot be had by any join's request id."""
    match = await finished(desk)
    first = await again(desk, match, 1)
    since = first.table.version
    for request_id in (f"rematch:1:{since}", f"rematch 1:{since}"):
        taken = await join(desk, first.table.game, display_name="Eve", seat=None, request_id=request_id)
        assert (taken.token == first.token) == (request_id == f"rematch:1:{since}"), "which no UUID is"
        await leave(desk, first.table.game, taken.token, request_id="")


@pytest.mark.parametrize("phase", ["open", "playing"])
async def test_there_is_no_rematch_before_the_end(desk: Desk, phase: str) -> None:
    """While a table waits or is played at, there is nothing to repeat, and no table is made."""
    table = await opened(desk, 2)
    tokens = await joined(desk, table.game, 1 if phase == "open" else 2)
    with refused(GameReason.GAME_NOT_OVER) as refusal:
        await rematch(desk, table.game, tokens[0], request_id="")
    assert refusal.value.metadata == {"state": phase}
    assert (await get(desk, table.game, tokens[0])).rematch == ""


@pytest.mark.parametrize("who", ["a spectator", "a stranger", "who left"])
async def test_only_who_played_to_the_end_plays_again(desk: Desk, who: str) -> None:
    """A spectator, a stranger and who has left the match have no place at the next one."""
    match = await playing(desk, 3, round_limit=1)
    await leave(desk, match.game, match.tokens[0], request_id="")
    await match.to_the_end()
    token = {"a spectator": None, "a stranger": "rst_unknown", "who left": match.tokens[0]}[who]
    with refused(GameReason.TOKEN_INVALID if token else GameReason.TOKEN_REQUIRED):
        await rematch(desk, match.game, token, request_id="")
    came = await again(desk, match, 1)
    assert [seat.taken for seat in came.table.seats] == [False, True, False]


async def test_a_next_table_that_expired_is_put_up_again(desk: Desk, other: Desk, store: BusyStore) -> None:
    """Where nobody started it in time there is another; who remembers the first writes nothing over it."""
    match = await finished(desk)
    first = await again(other, match, 0)
    keys = store._keys.of(first.table.game, code=first.table.code)
    await store._link.client.delete(keys.game, keys.history, keys.code)
    assert (await get(desk, match.game, match.tokens[0])).rematch == ""
    second = await again(desk, match, 1)
    assert second.table.epoch != first.table.epoch
    third, fourth = await again(other, match, 2), await again(other, match, 0)
    assert fourth.token != first.token
    for seat, joined_ in ((1, second), (2, third), (0, fourth)):
        assert (await get(other, first.table.game, joined_.token)).viewer == seat
