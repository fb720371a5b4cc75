"""The time of a turn: what is due is done once; who is too slow is played for; bots move; nobody pays for an outage."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.actions import Discard, Draw
from engine.events import Discarded, Drew, Event, LaidDown, LaidOff, TookPile, TurnStarted
from engine.state import Phase as MatchPhase
from engine.view import summary
from service.clock import Clock as Looks
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.replay import get_replay
from service.games.seats import add_bot, leave, resume
from service.games.seen import SeatState
from service.games.tick import tick
from service.store.keys import SHARDS, shard_of
from service.store.table import Phase, SeatAway, SeatReturned, TableEvent, TurnExtended, TurnLimit, TurnTimedOut
from tests.service.games.tables import (
    BusyStore,
    Clock,
    Match,
    joined,
    new_request_id,
    opened,
    playing,
    put_down,
    refused,
    stored,
)

LIMIT = TurnLimit(turn_ms=10_000, bank_ms=5_000, misses=2)


async def happened(match: Match) -> list[TableEvent | Event]:
    """The events of the newest version."""
    version = (await match.table()).version
    batch = await match.desk.store.batch(match.game, version)
    assert batch is not None
    return list(batch.events)


async def due(match: Match) -> list[str]:
    """What a look at the store would find now."""
    looks = [await match.desk.store.look(shard, match.desk.now_ms(), 10) for shard in range(SHARDS)]
    return [game for look in looks for game in look.games]


async def deadline(match: Match) -> int | None:
    """When the player to move is played for."""
    clock = (await match.table()).clock
    return clock.due_ms if clock and not clock.thinking else None


async def test_a_player_has_the_limit_and_then_the_bank(desk: Desk, clock: Clock) -> None:
    """A turn's deadline is its limit and the seat's bank from its beginning, and stays through the turn."""
    match = await playing(desk, limit=LIMIT)
    began = clock.now
    assert await deadline(match) == began + 15_000
    clock.now += 4_000
    await match.act(0, Draw())
    assert await deadline(match) == began + 15_000
    await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
    assert await deadline(match) == clock.now + 15_000
    assert (await match.table()).seats[0].bank_ms == 5_000


async def test_what_goes_over_the_limit_comes_out_of_the_bank(desk: Desk, clock: Clock) -> None:
    """A turn that took longer than the limit takes the rest from its own seat's bank, and the next turn has less."""
    match = await playing(desk, limit=LIMIT)
    clock.now += 12_000
    await match.act(0, Draw())
    await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
    assert [seat.bank_ms for seat in (await match.table()).seats] == [3_000, 5_000]
    await match.act(1, Draw())
    await match.act(1, Discard(summary(await match.state(), 1).discards[0]))
    assert await deadline(match) == clock.now + 13_000


async def test_nothing_happens_before_the_time(desk: Desk, clock: Clock) -> None:
    """Until the deadline a tick changes nothing, and the game is not found to be due."""
    match = await playing(desk, limit=LIMIT)
    before = await match.table()
    clock.now += 14_999
    assert await due(match) == []
    await tick(desk, match.game)
    assert await match.table() == before


async def test_who_is_too_slow_is_played_for(desk: Desk, clock: Clock) -> None:
    """At the deadline the seat draws and discards, nothing else; its bank is gone; and it is the next seat's turn."""
    match = await playing(desk, limit=LIMIT)
    clock.now += 15_000
    assert await due(match) == [match.game]
    await tick(desk, match.game)
    kinds = [type(event) for event in await happened(match)]
    assert kinds == [TurnTimedOut, Drew, Discarded, TurnStarted]
    table = await match.table()
    assert [(seat.bank_ms, seat.misses) for seat in table.seats] == [(0, 1), (5_000, 0)]
    assert (await match.turn())[0] == 1
    assert await deadline(match) == clock.now + 15_000


async def test_a_turn_that_was_begun_is_finished(desk: Desk, clock: Clock) -> None:
    """Who has drawn and runs out of time only has the discard made for him."""
    match = await playing(desk, limit=LIMIT)
    await match.act(0, Draw())
    clock.now += 15_000
    await tick(desk, match.game)
    assert [type(event) for event in await happened(match)] == [TurnTimedOut, Discarded, TurnStarted]


async def test_a_deadline_fires_once(desk: Desk, new_desk: Callable[[], Desk], clock: Clock) -> None:
    """However many servers do at the same time what is due, it is done once."""
    match = await playing(desk, limit=LIMIT)
    version = (await match.table()).version
    clock.now += 15_000
    await asyncio.gather(*(tick(new_desk(), match.game) for _ in range(8)))
    assert (await match.table()).version == version + 1


async def test_an_act_that_comes_first_stands(desk: Desk, store: BusyStore, clock: Clock) -> None:
    """Where the player ends the turn while it is about to be played for, nothing is played for him."""
    match = await playing(desk, limit=LIMIT)
    await match.act(0, Draw())
    card = summary(await match.state(), 0).discards[0]
    clock.now += 15_000

    async def discards(_table: object) -> None:
        store.meanwhile = None
        await match.act(0, Discard(card))

    store.meanwhile = discards
    await tick(desk, match.game)
    assert [type(event) for event in await happened(match)] == [Discarded, TurnStarted]


async def test_a_wrong_token_moves_no_deadline(desk: Desk, clock: Clock) -> None:
    """What is refused, for its token or for the rules, changes nothing of the turn's clock."""
    match = await playing(desk, limit=LIMIT)
    before = await match.table()
    clock.now += 5_000
    with refused(GameReason.TOKEN_INVALID):
        await Match(desk, match.game, ["wrong", "wrong"]).act(0, Draw())
    with refused(GameReason.TOKEN_INVALID):
        await resume(desk, match.game, "wrong", request_id="")
    assert await match.table() == before


async def test_a_return_that_came_too_early_does_nothing_later(desk: Desk, other: Desk, clock: Clock) -> None:
    """Who was there when he said that he is back is not brought back by the same call, sent again once he is away."""
    match, request_id = await playing(desk, limit=LIMIT), new_request_id()
    token, version = match.tokens[0], (await match.table()).version
    await resume(desk, match.game, token, request_id=request_id)
    table = await match.table()
    assert table.version == version
    gone = await put_down(desk, table, seats=(replace(table.seats[0], away=True), *table.seats[1:]))
    seen = await resume(other, match.game, token, request_id=request_id)
    assert (seen.version, (await match.table()).seats[0].away) == (gone.version, True)
    await resume(other, match.game, token, request_id=new_request_id())
    assert not (await match.table()).seats[0].away


async def test_who_misses_too_often_is_away(desk: Desk, clock: Clock) -> None:
    """After so many missed turns on end a bot takes the seat, and its turns have no deadline any more."""
    match = await playing(desk, 2, limit=LIMIT, deals=5)
    for _ in range(2):
        clock.now += 15_000
        await tick(desk, match.game)
        await match.act(1, Draw())
        await match.act(1, Discard(summary(await match.state(), 1).discards[0]))
    assert (await match.table()).seats[0].away
    assert await deadline(match) is None
    clock.now += 2 * desk.think_ms
    assert await due(match) == [match.game]
    await tick(desk, match.game)
    assert isinstance((await happened(match))[0], Drew | TookPile)


async def test_an_act_in_between_begins_the_count_anew(desk: Desk, clock: Clock) -> None:
    """Only turns on end count: who acts in time between two misses is not away."""
    match = await playing(desk, 2, limit=LIMIT, deals=5)
    for missed in (True, False, True):
        if missed:
            clock.now += 15_000
            await tick(desk, match.game)
        else:
            await match.act(0, Draw())
            await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
        await match.act(1, Draw())
        await match.act(1, Discard(summary(await match.state(), 1).discards[0]))
    assert not (await match.table()).seats[0].away


async def away(desk: Desk, clock: Clock) -> Match:
    """A match of two in which seat 0 is away, and to move."""
    match = await playing(desk, 2, limit=replace(LIMIT, misses=1), deals=5)
    clock.now += 15_000
    await tick(desk, match.game)
    assert [type(event) for event in await happened(match)][:2] == [TurnTimedOut, SeatAway]
    await match.act(1, Draw())
    await match.act(1, Discard(summary(await match.state(), 1).discards[0]))
    return match


async def test_an_act_ends_the_absence(desk: Desk, clock: Clock) -> None:
    """The owner of a seat that a bot plays may act at any time in its turn, and plays on by himself."""
    match = await away(desk, clock)
    acted = await match.act(0, Draw())
    assert isinstance(acted.events[0], SeatReturned)
    assert acted.seen.seats[0].state is SeatState.TAKEN
    assert await deadline(match) == clock.now + 10_000


async def test_a_player_returns_when_he_likes(desk: Desk, clock: Clock) -> None:
    """A player who says that he is back has his seat, whoever's turn it is; said twice it changes nothing."""
    match = await away(desk, clock)
    seen = await resume(desk, match.game, match.tokens[0], request_id="")
    assert (seen.seats[0].state, seen.deadline_ms) == (SeatState.TAKEN, clock.now + 10_000)
    assert await happened(match) == [SeatReturned(0)]
    again = await resume(desk, match.game, match.tokens[0], request_id="")
    assert again.version == seen.version


async def test_nobody_returns_to_a_match_that_is_not_played(desk: Desk) -> None:
    """Before the match and after it there is nothing to come back to."""
    table = await opened(desk)
    tokens = await joined(desk, table.game, 1)
    with refused(GameReason.GAME_NOT_STARTED):
        await resume(desk, table.game, tokens[0], request_id="")
    match = await playing(desk)
    await match.to_the_end()
    with refused(GameReason.GAME_OVER):
        await resume(desk, match.game, match.tokens[0], request_id="")


async def test_a_table_that_all_have_deserted_pauses(desk: Desk, clock: Clock) -> None:
    """When every player is away the bots stop: nothing is due, until one of them returns."""
    match = await playing(desk, 2, limit=replace(LIMIT, misses=1), deals=5)
    for _ in range(2):
        clock.now += 15_000
        await tick(desk, match.game)
    table = await match.table()
    assert (table.phase, table.clock, [seat.away for seat in table.seats]) == (Phase.PLAYING, None, [True, True])
    clock.now += 1_000_000
    assert await due(match) == []
    await resume(desk, match.game, match.tokens[1], request_id="")
    clock.now += 2 * desk.think_ms
    assert await due(match) == [match.game]


async def test_a_match_without_limit_has_no_deadline(desk: Desk, clock: Clock) -> None:
    """Where no limit was chosen nothing falls due, however long a player takes."""
    match = await playing(desk)
    clock.now += 10**9
    assert await due(match) == []
    assert (await match.table()).clock is None


async def test_an_outage_counts_against_nobody(desk: Desk, clock: Clock) -> None:
    """A deadline that passed while no server could answer is moved on by that time, once, and fires then."""
    match = await playing(desk, limit=LIMIT)
    shard, began = shard_of(match.game), clock.now
    await look(desk, shard)
    clock.now += 60_000
    await look(desk, shard)
    await tick(desk, match.game)
    assert await happened(match) == [TurnExtended(0, began + 75_000)]
    clock.now = began + 74_999
    await look(desk, shard)
    await tick(desk, match.game)
    assert (await match.turn())[0] == 0
    desk.outages.put(shard, ((began, began + 60_000),), began + 75_000)
    clock.now += 1
    await tick(desk, match.game)
    assert isinstance((await happened(match))[0], TurnTimedOut)


async def test_an_outage_is_not_taken_from_the_bank(desk: Desk, clock: Clock) -> None:
    """Who acts right after an outage, before any server has looked, pays nothing for it."""
    match = await playing(desk, limit=LIMIT)
    await look(desk, shard_of(match.game))
    clock.now += 60_000
    await match.act(0, Draw())
    await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
    assert (await match.table()).seats[0].bank_ms == 5_000


async def look(desk: Desk, shard: int) -> None:
    """What a server's look at a shard does."""
    await Looks(desk, 1.0)._claimed(shard)


async def with_bots(desk: Desk, seat_count: int, preset: str = "basic", deals: int = 1) -> Match:
    """A match of one player, at seat 0, against bots."""
    table = await opened(desk, seat_count, preset, deals=deals, target=0)
    tokens = await joined(desk, table.game, 1)
    for _ in range(seat_count - 1):
        await add_bot(desk, table.game, tokens[0], display_name="", seat=None, request_id="")
    return Match(desk, table.game, tokens)


async def test_a_bot_thinks_and_moves(desk: Desk, clock: Clock) -> None:
    """A bot draws when it has thought, and when it has thought again plays the rest of its turn."""
    match = await with_bots(desk, 2)
    await match.act(0, Draw())
    await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
    assert await due(match) == []
    assert await deadline(match) is None
    clock.now += 2 * desk.think_ms
    await tick(desk, match.game)
    state = await match.state()
    assert (state.turn, state.phase) in {(1, MatchPhase.PLAY), (0, MatchPhase.DRAW)}
    clock.now += 2 * desk.think_ms
    await tick(desk, match.game)
    assert (await match.turn())[0] == 0


async def test_how_long_a_bot_thinks_is_chance_alone(desk: Desk, clock: Clock) -> None:
    """The time is drawn from half to one and a half of the usual, from chance and nothing else."""
    times = []
    for byte in (0, 255):
        fixed = replace_chance(desk, byte)
        match = await with_bots(fixed, 2)
        await match.act(0, Draw())
        await match.act(0, Discard(summary(await match.state(), 0).discards[0]))
        running = (await match.table()).clock
        assert running is not None
        times.append(running.due_ms - clock.now)
    assert times == [500, 1496]


def replace_chance(desk: Desk, byte: int) -> Desk:
    """A desk whose chance gives the same byte whenever it is asked for one."""
    chance = desk.chance
    return Desk(desk.store, desk.now_ms, lambda size: bytes([byte]) if size == 1 else chance(size))


@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500"])
async def test_bots_play_a_match_to_its_end(desk: Desk, clock: Clock, preset: str) -> None:
    """A player and bots play any game to its end, and its replay is verified like any other."""
    match = await with_bots(desk, 3, preset, deals=2)
    for _ in range(2000):
        table = await match.table()
        if table.phase is not Phase.PLAYING or table.match is None:
            break
        if table.match.turn == 0:
            await match.move()
        else:
            clock.now += 2 * desk.think_ms
            await tick(desk, match.game)
    assert (await match.table()).phase is Phase.FINISHED
    assert (await get_replay(desk, match.game, None)).seeds


async def test_bots_stop_with_the_last_player(desk: Desk) -> None:
    """When the only player leaves, the match against bots is given up."""
    match = await with_bots(desk, 3)
    assert (await leave(desk, match.game, match.tokens[0], request_id="")).phase is Phase.ABANDONED
    assert await due(match) == []


async def test_a_game_that_is_gone_is_due_no_more(desk: Desk, clock: Clock) -> None:
    """What was due in a game that has expired is dropped."""
    match = await playing(desk, limit=LIMIT)
    clock.now += 15_000
    await desk.store._link.client.delete(desk.store._keys.of(match.game).game)
    await tick(desk, match.game)
    clock.now += 60_000
    assert await due(match) == []


async def test_a_timed_out_seat_lays_nothing(desk: Desk, clock: Clock) -> None:
    """Whatever it holds, a seat that ran out of time draws and discards, and never fouls."""
    match = await playing(desk, 2, "pool500", limit=replace(LIMIT, misses=100))
    for _ in range(12):
        clock.now += 15_000
        await tick(desk, match.game)
        first = await match.state()
        laid = [event for event in await happened(match) if isinstance(event, LaidDown | LaidOff)]
        assert not laid or first.knocked
    assert not (await match.state()).voided


async def test_a_bot_is_put_by_a_player_alone(desk: Desk) -> None:
    """Nobody who does not sit at the table puts a bot there, and none once the match has begun."""
    table = await opened(desk, 3)
    for token, reason in ((None, GameReason.TOKEN_REQUIRED), ("wrong", GameReason.TOKEN_INVALID)):
        with refused(reason):
            await add_bot(desk, table.game, token, display_name="", seat=None, request_id="")
    tokens = await joined(desk, table.game, 1)
    seen = await add_bot(desk, table.game, tokens[0], display_name="Hal", seat=2, request_id="")
    assert [(seat.display_name, seat.bot) for seat in seen.seats] == [("player 0", False), ("", False), ("Hal", True)]
    with refused(GameReason.SEAT_TAKEN):
        await add_bot(desk, table.game, tokens[0], display_name="", seat=2, request_id="")
    await joined(desk, table.game, 1)
    with refused(GameReason.GAME_NOT_OPEN):
        await add_bot(desk, table.game, tokens[0], display_name="", seat=None, request_id="")


async def test_a_bot_is_put_once_for_a_request(desk: Desk, other: Desk) -> None:
    """A retried call puts no second bot."""
    table = await opened(desk, 4)
    tokens = await joined(desk, table.game, 1)
    request_id = "2f6f2a3e-0c05-4b5e-9d8a-6a4f8f7d1c11"
    for each in (desk, other):
        await add_bot(each, table.game, tokens[0], display_name="", seat=None, request_id=request_id)
    assert sum(seat.bot for seat in (await stored(desk, table.game)).seats) == 1
