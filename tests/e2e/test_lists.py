"""Lists that come in pages: together they are the whole, each entry once."""

from contextlib import AsyncExitStack

import pytest
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game

from tests.e2e.clients import Client, Failure
from tests.e2e.conftest import Start
from tests.e2e.live import Rummyd
from tests.e2e.players import client_of, game_of, sit_down

fronts = pytest.mark.parametrize("front", ["grpc", "rest"])


async def open_tables(client: Client, page_size: int) -> list[Game]:
    """All open tables, page by page."""
    page = await client.games(page_size)
    games = list(page.games)
    while page.next_page_token:
        page = await client.games(page_size, page.next_page_token)
        assert len(page.games) <= page_size
        games += page.games
    return games


@fronts
async def test_open_tables(start: Start, front: str) -> None:
    """The tables that wait for players are listed newest first, whatever the size of a page, and no others."""
    async with client_of(start(), front) as client:
        names = [(await client.create(game_of(2))).name for _ in range(7)]
        for _ in range(2):
            await client.join(names[3])
        for page_size in (1, 2, 3, 100):
            listed = await open_tables(client, page_size)
            assert [game.name for game in listed] == [name for name in reversed(names) if name != names[3]]
            assert not any(game.HasField("view") for game in listed)
        with pytest.raises(Failure) as caught:
            await client.games(2, "nonsense")
        assert caught.value.reason == "INVALID_PAGE_TOKEN"


@fronts
async def test_legal_actions(rummyd: Rummyd, front: str) -> None:
    """Legal actions are listed page by page at one version; once the game has moved on, the next page is refused."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, game_of(2), [front])
        mover, other = match.players
        await match.play(1)
        whole = await mover.legal(match.name)
        assert {action.WhichOneof("action") for action in whole.actions} >= {"discard"}
        assert not whole.next_page_token
        paged: list[Action] = []
        page = await mover.legal(match.name, 1)
        paged += page.actions
        token = page.next_page_token
        while page.next_page_token:
            page = await mover.legal(match.name, 1, page.next_page_token)
            assert page.version == whole.version
            paged += page.actions
        assert paged == list(whole.actions)
        assert not (await other.legal(match.name)).actions
        await mover.act(match.name, [whole.actions[-1]])
        with pytest.raises(Failure) as caught:
            await mover.legal(match.name, 1, token)
        assert (caught.value.code, caught.value.reason) == ("ABORTED", "VERSION_MISMATCH")
