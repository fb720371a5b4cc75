"""How people come to a table: by its code, at once, and once more after a match."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from rummy.v1.game_pb2 import Game

from tests.e2e.clients import Failure
from tests.e2e.live import Rummyd
from tests.e2e.players import Match, client_of, game_of, new_id, sit_down

fronts = pytest.mark.parametrize("front", ["grpc", "rest"])


@fronts
async def test_friends_meet_by_a_code(rummyd: Rummyd, sister: Rummyd, front: str) -> None:
    """One creates a private table and reads out its code; the other types it at another server, and they play."""
    async with client_of(rummyd, front) as ann, client_of(sister, front) as bob:
        wanted = game_of(2)
        wanted.visibility = Game.VISIBILITY_PRIVATE
        game = await ann.create(wanted)
        assert game.name not in {listed.name for listed in (await bob.games(100)).games}
        found = await bob.find(f"{game.join_code[:3].lower()} - {game.join_code[3:]}")
        assert found == game
        await ann.join(game.name, "Ann")
        assert (await bob.join(found.name, "Bob")).game.state == Game.STATE_PLAYING
        with pytest.raises(Failure) as caught:
            await bob.find("ZZZZZZ")
        assert (caught.value.code, caught.value.reason) == ("NOT_FOUND", "CODE_NOT_FOUND")


@fronts
async def test_spectators_are_kept_away(rummyd: Rummyd, front: str) -> None:
    """Where spectators are kept away a stream without a token is denied, and a seat's goes on to the end."""
    async with AsyncExitStack() as stack:
        wanted = game_of(2, roundLimit=1)
        wanted.spectators = Game.SPECTATORS_NOT_ALLOWED
        match = await sit_down(stack, rummyd, wanted, [front])
        stranger = await stack.enter_async_context(client_of(rummyd, front))
        seen = await stranger.get(match.name)
        assert (seen.state, seen.HasField("view")) == (Game.STATE_PLAYING, False)
        with pytest.raises(Failure) as caught:
            async with stranger.observe(match.name) as stream:
                await stream.next()
        assert (caught.value.code, caught.value.reason) == ("PERMISSION_DENIED", "SPECTATORS_NOT_ALLOWED")
        await match.play()
        async with match.players[0].observe(match.name, after=3) as stream:
            assert [message.batch.version async for message in stream][-1] == (await stranger.get(match.name)).version
        with pytest.raises(Failure, match="SPECTATORS_NOT_ALLOWED"):
            await stranger.replay(match.name)
        assert (await match.players[1].replay(match.name)).scores


async def test_a_crowd_fills_table_after_table(rummyd: Rummyd, sister: Rummyd) -> None:
    """Fifty who want to play at once, on two servers and over both fronts, make thirteen tables of four, no more."""
    wanted = game_of(4, deals=50)
    async with AsyncExitStack() as stack:
        crowd = [
            await stack.enter_async_context(client_of((rummyd, sister)[number % 2], ("grpc", "rest")[number // 2 % 2]))
            for number in range(50)
        ]
        seats = await asyncio.gather(*(client.quick_join(wanted, request_id=new_id()) for client in crowd))
        tables = Counter(seat.game.name for seat in seats)
        assert sorted(tables.values()) == [2, *[4] * 12]
        assert len({(seat.game.name, seat.seat) for seat in seats}) == len({seat.token for seat in seats}) == 50
        crowd[0].token = None
        games = [await crowd[0].get(name) for name in tables]
        assert Counter(game.state for game in games) == {Game.STATE_PLAYING: 12, Game.STATE_OPEN: 1}


@fronts
async def test_players_play_again(rummyd: Rummyd, sister: Rummyd, front: str) -> None:
    """After a match its players meet at the next table, each by a call of his own at any server, and play that one."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, game_of(3, roundLimit=1), [front])
        for _ in range(2):
            await match.play()
            others = [await stack.enter_async_context(client_of(sister, front)) for _ in match.players]
            for other, player in zip(others, match.players, strict=True):
                other.token = player.token
            seats = await asyncio.gather(*(client.rematch(match.name, new_id()) for client in others))
            assert [seat.seat for seat in seats] == [0, 1, 2]
            (name,) = {seat.game.name for seat in seats}
            assert {(await player.get(match.name)).rematch for player in match.players} == {name}
            match = Match(name, others)
        assert (await match.play()).HasField("result")
