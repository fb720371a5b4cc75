"""Joining a table, leaving it, and starting the match."""

import pytest

from engine.events import DealStarted, MatchEnded, TurnStarted
from service.games.act import act
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.read import get
from service.games.seats import join, leave, start
from service.store.table import MatchAbandoned, MatchStarted, Phase, SeatJoined, SeatLeft
from tests.service.games.tables import joined, new_request_id, opened, playing, refused, stored


async def test_a_player_takes_the_lowest_free_seat(desk: Desk) -> None:
    """Who names no seat gets the lowest free one, though others have taken seats above it."""
    table = await opened(desk, 4)
    await join(desk, table.game, display_name="Cy", seat=1, request_id="")
    seats = [(await join(desk, table.game, display_name=name, seat=None, request_id="")).seat for name in ("Ann", "Bo")]
    assert seats == [0, 2]


async def test_a_player_takes_the_seat_that_he_names(desk: Desk) -> None:
    """A named seat is taken under the player's name, which all may read in the table and in the event."""
    table = await opened(desk, 3)
    taken = await join(desk, table.game, display_name="Ann", seat=2, request_id="")
    assert (taken.seat, taken.table.version) == (2, 2)
    seen = await get(desk, table.game, None)
    assert [seat.display_name for seat in seen.seats] == ["", "", "Ann"]
    batch = await desk.store.batch(table.game, 2)
    assert batch is not None
    assert (batch.actor, batch.events) == (2, (SeatJoined(2, "Ann"),))


@pytest.mark.parametrize("seat", [1, 3, 7])
async def test_a_seat_that_is_not_free_is_refused(desk: Desk, seat: int) -> None:
    """A seat that is taken or not there is refused, the free ones are named, and nothing changes."""
    table = await opened(desk, 3)
    before = (await join(desk, table.game, display_name="Ann", seat=1, request_id="")).table
    with refused(GameReason.SEAT_TAKEN) as refusal:
        await join(desk, table.game, display_name="Bo", seat=seat, request_id="")
    assert refusal.value.metadata == {"seat": str(seat), "free_seats": "0 2"}
    assert await stored(desk, table.game) == before


async def test_the_match_begins_with_the_last_seat(desk: Desk) -> None:
    """A table whose last seat is taken starts by itself, in the same commit, and takes nobody more."""
    table = await opened(desk, 2)
    await joined(desk, table.game, 1)
    last = await join(desk, table.game, display_name="Bo", seat=None, request_id="")
    assert (last.table.phase, last.table.version, last.table.seeds) == (Phase.PLAYING, 3, None)
    batch = await desk.store.batch(table.game, 3)
    assert batch is not None
    assert [type(event) for event in batch.events] == [SeatJoined, MatchStarted, DealStarted, TurnStarted]
    for seat in (None, 0):
        with refused(GameReason.GAME_NOT_OPEN) as refusal:
            await join(desk, table.game, display_name="Cy", seat=seat, request_id="")
    assert refusal.value.metadata == {"state": "playing"}


async def test_a_retried_join_gives_the_same_seat_and_token(desk: Desk, other: Desk) -> None:
    """A join that comes again, to any server, gives the first one's token: who lost the answer is not locked out."""
    table, request_id = await opened(desk, 3), new_request_id()
    first = await join(desk, table.game, display_name="Ann", seat=None, request_id=request_id)
    again = await join(other, table.game, display_name="Ann", seat=None, request_id=request_id.upper())
    assert (again.seat, again.token) == (first.seat, first.token)
    assert sum(seat.taken for seat in (await stored(desk, table.game)).seats) == 1


async def test_a_retried_join_works_when_the_match_has_begun(desk: Desk) -> None:
    """The retry gives the seat by its number of now, though seats have moved up and the table takes nobody more."""
    table, request_id = await opened(desk, 4), new_request_id()
    await join(desk, table.game, display_name="Ann", seat=1, request_id="")
    bo = await join(desk, table.game, display_name="Bo", seat=3, request_id=request_id)
    await start(desk, table.game, bo.token, request_id="")
    again = await join(desk, table.game, display_name="Bo", seat=3, request_id=request_id)
    assert (again.token, again.seat) == (bo.token, 1)


async def test_a_join_cannot_be_repeated_after_leaving(desk: Desk) -> None:
    """A seat that was given up is not had back by the request id that it was taken with."""
    table, request_id = await opened(desk, 3), new_request_id()
    first = await join(desk, table.game, display_name="Ann", seat=None, request_id=request_id)
    await leave(desk, table.game, first.token, request_id="")
    with refused(GameReason.TOKEN_INVALID):
        await join(desk, table.game, display_name="Ann", seat=None, request_id=request_id)


@pytest.mark.parametrize(
    ("name", "seat", "entropy"),
    [("Eve", 1, "hers"), ("Ann", None, "hers"), ("Ann", 1, "")],
    ids=["name", "seat", "entropy"],
)
async def test_a_joins_request_id_is_for_one_join(desk: Desk, name: str, seat: int | None, entropy: str) -> None:
    """Who brings the request id of another's join, but asks for something else, does not learn the token."""
    table, request_id = await opened(desk, 3), new_request_id()
    await join(desk, table.game, display_name="Ann", seat=1, entropy="hers", request_id=request_id)
    with refused(GameReason.REQUEST_ID_REUSED):
        await join(desk, table.game, display_name=name, seat=seat, entropy=entropy, request_id=request_id)


async def test_no_token_is_stored(desk: Desk) -> None:
    """The store holds of a seat's token a hash alone."""
    table = await opened(desk, 3)
    (token,) = await joined(desk, table.game, 1)
    assert token not in repr(await stored(desk, table.game))


async def test_who_leaves_an_open_table_frees_his_seat(desk: Desk) -> None:
    """Before the match a seat that is left is free for the next, and the token is none any more."""
    table = await opened(desk, 3)
    tokens = await joined(desk, table.game, 2)
    left = await leave(desk, table.game, tokens[0], request_id="")
    assert (left.phase, [seat.taken for seat in left.seats]) == (Phase.OPEN, [False, True, False])
    batch = await desk.store.batch(table.game, left.version)
    assert batch is not None
    assert batch.events == (SeatLeft(0),)
    with refused(GameReason.TOKEN_INVALID):
        await get(desk, table.game, tokens[0])
    assert (await join(desk, table.game, display_name="Cy", seat=None, request_id="")).seat == 0


async def test_who_leaves_a_match_is_played_for_at_once(desk: Desk) -> None:
    """The seat is played for in the very commit, so that nobody waits for a player who is gone."""
    match = await playing(desk, 3)
    seat, token = await match.turn()
    table = await leave(desk, match.game, token, request_id="")
    assert table.match is not None
    assert (table.seats[seat].left, table.seats[seat].token_hash) == (True, b"")
    assert table.match.turn == (seat + 1) % 3
    batch = await desk.store.batch(match.game, table.version)
    assert batch is not None
    assert batch.events[0] == SeatLeft(seat)
    assert batch.events[-1] == TurnStarted((seat + 1) % 3, 1)


async def test_who_leaves_out_of_turn_is_played_for_in_his_turn(desk: Desk) -> None:
    """A seat that is left is played for whenever its turn comes, in the commit of the move before."""
    match = await playing(desk, 2)
    seat, _ = await match.turn()
    await leave(desk, match.game, match.tokens[1 - seat], request_id="")
    for _ in range(4):
        await match.move()
        assert (await match.state()).turn == seat


async def test_the_match_is_given_up_with_its_last_player(desk: Desk) -> None:
    """When nobody is left the match is abandoned, and does not play itself to an end."""
    match = await playing(desk, 2)
    await leave(desk, match.game, match.tokens[0], request_id="")
    table = await leave(desk, match.game, match.tokens[1], request_id="")
    assert table.phase is Phase.ABANDONED
    batch = await desk.store.batch(match.game, table.version)
    assert batch is not None
    assert batch.events == (SeatLeft(1), MatchAbandoned())
    with refused(GameReason.GAME_NOT_OPEN):
        await join(desk, match.game, display_name="Cy", seat=None, request_id="")


async def test_a_retried_leave_is_answered_though_the_token_is_revoked(desk: Desk, other: Desk) -> None:
    """Leaving revokes the token that its retry comes with; the retry is answered all the same, and changes nothing."""
    match, request_id = await playing(desk, 3), new_request_id()
    first = await leave(desk, match.game, match.tokens[2], request_id=request_id)
    again = await leave(other, match.game, match.tokens[2], request_id=request_id)
    assert again == first
    with refused(GameReason.TOKEN_INVALID):
        await leave(other, match.game, match.tokens[2], request_id=new_request_id())


async def test_nobody_leaves_a_match_that_is_over(desk: Desk) -> None:
    """After the end the seats stay as they were, so that the result keeps its names."""
    match = await playing(desk, 2)
    await match.to_the_end()
    over = await match.table()
    with refused(GameReason.GAME_OVER):
        await leave(desk, match.game, match.tokens[0], request_id="")
    assert await match.table() == over


async def test_the_last_move_of_a_leaver_may_end_the_match(desk: Desk) -> None:
    """Where the seat that is left plays the match's last turn, the match is finished by it, not abandoned."""
    match = await playing(desk, 2, round_limit=1, stock_empty="shuffle")
    seat, _ = await match.turn()
    while (await match.state()).turn == seat:
        await match.move()
    table = await leave(desk, match.game, match.tokens[1 - seat], request_id="")
    assert table.phase is Phase.FINISHED
    batch = await desk.store.batch(match.game, table.version)
    assert batch is not None
    assert isinstance(batch.events[-1], MatchEnded)


@pytest.mark.parametrize("token", [None, "rst_unknown"])
async def test_only_a_player_leaves_and_starts(desk: Desk, token: str | None) -> None:
    """Who has no seat cannot give one up, nor start the others' match."""
    table = await opened(desk, 3)
    await joined(desk, table.game, 2)
    reason = GameReason.TOKEN_INVALID if token else GameReason.TOKEN_REQUIRED
    with refused(reason):
        await leave(desk, table.game, token, request_id=new_request_id())
    with refused(reason):
        await start(desk, table.game, token, request_id=new_request_id())


async def test_a_match_starts_with_those_who_are_there(desk: Desk) -> None:
    """The free seats are taken away, the others move up, and each player finds his own new number."""
    table = await opened(desk, 5)
    tokens = [
        (await join(desk, table.game, display_name=name, seat=seat, request_id="")).token
        for name, seat in (("Ann", 4), ("Bo", 1), ("Cy", 2))
    ]
    seen = await start(desk, table.game, tokens[0], request_id="")
    assert (seen.viewer, [seat.display_name for seat in seen.seats]) == (2, ["Bo", "Cy", "Ann"])
    batch = await desk.store.batch(table.game, seen.version)
    assert batch is not None
    assert batch.events[0] == MatchStarted((1, 2, 4))
    assert [(await get(desk, table.game, token)).viewer for token in tokens] == [2, 0, 1]


async def test_the_players_who_are_there_decide_packs_and_hands(desk: Desk) -> None:
    """A table for six that starts with two is dealt as two are, from the pack that two use."""
    table = await opened(desk, 6)
    assert (await get(desk, table.game, None)).rules.packs == 2
    tokens = await joined(desk, table.game, 2)
    seen = await start(desk, table.game, tokens[0], request_id="")
    assert (seen.rules.packs, seen.rules.hand_size) == (1, 10)
    assert seen.view is not None
    assert [seat.cards for seat in seen.view.seats] == [10, 10]


async def test_too_few_players_do_not_start(desk: Desk) -> None:
    """A match needs as many players as its rule set says; fewer are told how many there are and how many it takes."""
    table = await opened(desk, 5, seats=[3, 5])
    tokens = await joined(desk, table.game, 2)
    with refused(GameReason.TOO_FEW_PLAYERS) as refusal:
        await start(desk, table.game, tokens[0], request_id="")
    assert refusal.value.metadata == {"players": "2", "least": "3"}


async def test_a_match_starts_once(desk: Desk, other: Desk) -> None:
    """A retried start is answered with the table; another one is told that the match has begun."""
    table, request_id = await opened(desk, 3), new_request_id()
    tokens = await joined(desk, table.game, 2)
    first = await start(desk, table.game, tokens[1], request_id=request_id)
    again = await start(other, table.game, tokens[1], request_id=request_id)
    assert again == first
    with refused(GameReason.GAME_NOT_OPEN):
        await start(desk, table.game, tokens[0], request_id="")


async def test_a_request_id_is_for_one_kind_of_call(desk: Desk) -> None:
    """A seat that starts and leaves under one request id is told so: the second is no retry of the first."""
    table, request_id = await opened(desk, 3), new_request_id()
    tokens = await joined(desk, table.game, 2)
    await start(desk, table.game, tokens[1], request_id=request_id)
    with refused(GameReason.REQUEST_ID_REUSED):
        await leave(desk, table.game, tokens[1], request_id=request_id)


async def test_a_game_that_is_not_there_is_not_found(desk: Desk) -> None:
    """Every call about a game that never was, or has expired, says so."""
    for call in (
        join(desk, "nowhere", display_name="Ann", seat=None, request_id=""),
        leave(desk, "nowhere", "rst_x", request_id=""),
        start(desk, "nowhere", "rst_x", request_id=""),
        get(desk, "nowhere", None),
        act(desk, "nowhere", "rst_x", [], request_id="", expected_version=None),
    ):
        with refused(GameReason.GAME_NOT_FOUND) as refusal:
            await call
        assert refusal.value.metadata == {"game": "games/nowhere"}
