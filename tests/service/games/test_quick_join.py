"""Quick joins: the fullest table that fits or a new one, and one seat for each call."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec.structs import replace

from engine.errors import BadRules
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.fit import settled
from service.games.opening import Permit
from service.games.quick_join import quick_join
from service.games.read import list_open
from service.games.seats import Joined, join, leave, start
from service.store.store import Options, Store
from service.store.table import Phase, TurnLimit
from tests.patience import patient
from tests.service.games.tables import (
    BusyStore,
    Clock,
    NoPermit,
    Permits,
    joined,
    new_request_id,
    opened,
    refused,
    stored,
    wanted_of,
)

LIMIT = TurnLimit(turn_ms=30_000, bank_ms=0, misses=2)


async def quick(
    desk: Desk,
    seat_count: int = 3,
    *,
    name: str = "Ann",
    request_id: str = "",
    permit: Permit | None = None,
    **wanted: object,
) -> Joined:
    """A quick join at a table of so many seats."""
    asked = wanted_of(seat_count, **wanted)  # type: ignore[arg-type]
    return await quick_join(desk, asked, display_name=name, request_id=request_id, permit=permit)


async def open_games(desk: Desk) -> list[str]:
    """The open tables that are listed, newest first."""
    return [table.game for table in (await list_open(desk, size=100, cursor="")).tables]


@pytest.mark.parametrize("preset", ["basic", "rummy500"])
async def test_the_rules_that_a_table_shows_lead_to_it(desk: Desk, other: Desk, preset: str) -> None:
    """Who asks for the rules of a table's own answer, with the packs and the hand size filled in, is led there."""
    first = await quick(desk, 4, preset=preset)
    asked = wanted_of(4, preset)
    shown = replace(asked, rules=settled(asked.rules, 4))
    assert shown.rules != asked.rules
    second = await quick_join(other, shown, display_name="Ben", request_id="")
    assert second.table.game == first.table.game


async def test_the_first_makes_a_table_and_the_next_join_it(desk: Desk, other: Desk) -> None:
    """Where no table fits, one is created as it was asked for; who comes next takes the next seat, on any server."""
    first = await quick(desk, deals=3)
    assert (first.seat, first.table.rules.deals, len(first.table.seats)) == (0, 3, 3)
    second, third = await quick(other, deals=3), await quick(desk, deals=3)
    assert (second.seat, third.seat) == (1, 2)
    assert {second.table.game, third.table.game} == {first.table.game}
    assert third.table.phase is Phase.PLAYING
    assert (await quick(desk, deals=3)).table.game != first.table.game


async def test_only_a_new_table_needs_a_permit(desk: Desk, other: Desk) -> None:
    """Who joins a table that is open needs no permit; where none is had for a new one, others may still make it."""
    permits = Permits(1)
    for _ in range(3):
        await quick(desk, permit=permits)
    with pytest.raises(NoPermit):
        await quick(desk, permit=permits)
    assert (await quick(other, permit=Permits(1))).seat == 0
    assert (await quick(desk, permit=permits)).seat == 1


async def test_tables_that_others_have_put_up_are_joined(desk: Desk, clock: Clock) -> None:
    """Of the open tables that fit, it is the one with the fewest free seats, and of those the oldest."""
    games = []
    for _ in range(6):
        clock.now += 1
        games.append((await opened(desk, 4)).game)
    for number, players in enumerate((0, 1, 2, 2, 1, 0)):
        await joined(desk, games[number], players)
    met = [(await quick(desk, 4)).table.game for _ in range(7)]
    assert met == [games[number] for number in (2, 2, 3, 3, 1, 1, 1)]


async def test_a_bot_fills_a_seat(desk: Desk, clock: Clock) -> None:
    """The fullest table is the one that begins soonest, whoever sits there; a seat given up counts as free again."""
    games = []
    for _ in range(2):
        clock.now += 1
        games.append((await opened(desk, 4)).game)
    (token,) = await joined(desk, games[0], 1)
    await joined(desk, games[1], 2)
    assert (await quick(desk, 4)).table.game == games[1]
    await leave(desk, games[0], token, request_id="")
    assert await open_games(desk) == games[::-1]


@pytest.mark.parametrize(
    "other",
    [
        {"seat_count": 4},
        {"preset": "rummy500"},
        {"jokers": 1},
        {"limit": LIMIT},
        {"spectators": False},
        {"private": True},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_a_table_that_differs_does_not_fit(desk: Desk, other: dict[str, object]) -> None:
    """Another number of seats, rule, limit or say on spectators makes another table; a private one fits nobody."""
    seat_count = other.pop("seat_count", 3)
    assert isinstance(seat_count, int)
    table = await opened(desk, seat_count, **other)  # type: ignore[arg-type]
    taken = await quick(desk)
    assert taken.table.game != table.game
    assert not any(seat.taken for seat in (await stored(desk, table.game)).seats)


async def test_a_table_that_has_begun_is_joined_no_more(desk: Desk) -> None:
    """A table that started before it was full is left to its players."""
    first = await quick(desk, 4)
    second = await quick(desk, 4)
    await start(desk, first.table.game, second.token, request_id="")
    third = await quick(desk, 4)
    assert third.table.game != first.table.game
    assert (await quick(desk, 4)).table.game == third.table.game


async def test_a_table_that_has_expired_is_forgotten(desk: Desk, store: BusyStore) -> None:
    """What is left of a table that is no more leads nobody astray: a new one is created, and found by the next."""
    first = await quick(desk)
    keys = store._keys.of(first.table.game, likeness=first.table.likeness)
    await store._link.client.delete(keys.game, keys.history)
    assert await store._link.client.zcard(keys.alike) == 1
    again = await quick(desk)
    assert (again.seat, again.table.epoch != first.table.epoch) == (0, True)
    assert [(await quick(desk)).table.game for _ in range(2)] == [again.table.game] * 2
    assert await store.fullest_alike(first.table.likeness) is None


@pytest.fixture
async def desks(redis_url: str, store: BusyStore, new_desk: Callable[[], Desk]) -> AsyncIterator[list[Desk]]:
    """Desks of four servers, each with a store of its own."""
    namespace = store._options.namespace
    stores = [await Store.connect(redis_url, patient(Options(namespace=namespace))) for _ in range(4)]
    yield [Desk(one, chance=new_desk().chance) for one in stores]
    for one in stores:
        await one.close()


@pytest.mark.parametrize(("players", "seats"), [(50, 4), (40, 2), (33, 7)])
async def test_a_crowd_fills_one_table_after_the_other(desks: list[Desk], players: int, seats: int) -> None:
    """Of many who ask at once on several servers each gets a seat, and no more tables are made than they need."""
    answers = await asyncio.gather(
        *(quick(desks[number % 4], seats, name=f"P{number}", request_id=new_request_id()) for number in range(players))
    )
    tables = Counter(answer.table.game for answer in answers)
    assert len(tables) == -(-players // seats)
    assert sorted(tables.values(), reverse=True)[:-1] == [seats] * (len(tables) - 1)
    assert len({answer.token for answer in answers}) == players
    for game, count in tables.items():
        table = await stored(desks[0], game)
        assert sum(seat.taken for seat in table.seats) == count
        assert (table.phase is Phase.PLAYING) == (count == seats)
    assert len(await open_games(desks[0])) == (1 if players % seats else 0)


async def test_duplicates_in_parallel_take_one_seat(desks: list[Desk]) -> None:
    """Calls that were sent again and again at once, among others, come to one seat and token for each request id."""
    ids = [new_request_id() for _ in range(10)]
    answers = await asyncio.gather(
        *(
            quick(desks[number % 4], 3, request_id=ids[number // 4].upper() if number % 2 else ids[number // 4])
            for number in range(40)
        )
    )
    for number in range(10):
        same = answers[4 * number : 4 * number + 4]
        assert len({(answer.token, answer.table.game) for answer in same}) == 1
    games = {answer.table.game for answer in answers}
    tables = [await stored(desks[0], game) for game in games]
    assert sum(seat.taken for table in tables for seat in table.seats) == 10
    assert len(games) == 4


async def test_a_retry_gives_the_same_seat_when_the_table_is_long_full(desk: Desk, other: Desk) -> None:
    """Who lost the answer asks again, on any server, and gets seat and token of the first, and no table is made."""
    request_id = new_request_id()
    first = await quick(desk, 2, request_id=request_id)
    await quick(desk, 2)
    again = await quick(other, 2, request_id=request_id)
    assert (again.table.game, again.seat, again.token) == (first.table.game, first.seat, first.token)
    assert again.table.phase is Phase.PLAYING
    assert await open_games(desk) == []


@pytest.mark.parametrize(
    "change", [{"name": "Eve"}, {"seat_count": 4}, {"deals": 2}], ids=lambda change: next(iter(change))
)
async def test_a_request_id_is_for_one_quick_join(desk: Desk, change: dict[str, object]) -> None:
    """A request id that comes with another payload is refused, and nothing is taken or made."""
    request_id = new_request_id()
    first = await quick(desk, request_id=request_id)
    with refused(GameReason.REQUEST_ID_REUSED):
        await quick(desk, request_id=request_id, **change)  # type: ignore[arg-type]
    assert await stored(desk, first.table.game) == first.table
    assert await open_games(desk) == [first.table.game]


async def test_a_seat_that_was_given_up_is_not_had_back(desk: Desk) -> None:
    """The retry of a quick join whose seat was left since is told so, and takes no other."""
    request_id = new_request_id()
    first = await quick(desk, request_id=request_id)
    await leave(desk, first.table.game, first.token, request_id="")
    with refused(GameReason.TOKEN_INVALID):
        await quick(desk, request_id=request_id)


async def test_a_retry_after_the_tables_end_takes_another_seat(desk: Desk, other: Desk, store: BusyStore) -> None:
    """When the table of the first call has expired, a late retry is seated anew, and the next retry finds that seat."""
    request_id = new_request_id()
    first = await quick(desk, request_id=request_id)
    keys = store._keys.of(first.table.game)
    await store._link.client.delete(keys.game, keys.history)
    later = await quick(other, request_id=request_id)
    assert later.table.epoch != first.table.epoch
    assert later.token != first.token
    again = await quick(other, request_id=request_id)
    assert (again.table.game, again.seat, again.token) == (later.table.game, later.seat, later.token)


async def test_a_table_that_filled_up_meanwhile_is_passed_by(desk: Desk, store: BusyStore) -> None:
    """Where the chosen table is full before the seat is taken, another is chosen, and the retry knows which."""
    request_id = new_request_id()
    first = await opened(desk, 2)

    async def rush(table: object) -> None:
        store.meanwhile = None
        for name in ("Bo", "Cy"):
            await join(desk, first.game, display_name=name, seat=None, request_id="")

    store.meanwhile = rush
    taken = await quick(desk, 2, request_id=request_id)
    assert taken.table.game != first.game
    again = await quick(desk, 2, request_id=request_id)
    assert (again.table.game, again.token) == (taken.table.game, taken.token)
    assert sum(seat.taken for seat in again.table.seats) == 1


async def test_a_call_that_died_before_the_seat_was_taken_is_finished_by_its_retry(
    desk: Desk, store: BusyStore
) -> None:
    """Where a server ends between choosing the table and joining it, the retry takes the seat there."""
    request_id = new_request_id()

    async def die(table: object) -> None:
        store.meanwhile = None
        raise asyncio.CancelledError

    store.meanwhile = die
    with pytest.raises(asyncio.CancelledError):
        await quick(desk, 2, request_id=request_id)
    (game,) = await open_games(desk)
    taken = await quick(desk, 2, request_id=request_id)
    assert (taken.table.game, taken.seat) == (game, 0)


async def test_impossible_rules_lead_nowhere(desk: Desk) -> None:
    """A quick join by rules that cannot be played is refused with every fault, and makes no table."""
    with pytest.raises(BadRules) as refusal:
        await quick(desk, 9, deals=0, target=0)
    assert {fault.field for fault in refusal.value.faults} == {"seat_count", "target"}
    assert await open_games(desk) == []
