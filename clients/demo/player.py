"""A seat that plays: it follows the table by its own stream, and acts whenever it is its turn."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from clients.api import Api, CallError
from clients.demo.policy import choose
from clients.retry import Retrying, followed

__all__ = ["Player", "join"]


async def join(api: Api, game: str, name: str, pace_s: float = 0.0) -> "Player":
    """Sits down at a table, and gives the player. What he adds to the shuffle nobody else can have known."""
    added = secrets.token_urlsafe(12)
    joined = await Retrying(api).join_game(pb.JoinGameRequest(name=game, display_name=name, entropy=added))
    return Player(api, game, joined.seat, joined.token, added=added, pace_s=pace_s)


class Player:
    """One seat. `added`: what it added to the shuffle. `pace_s`: seconds before each action, for those who look on."""

    def __init__(self, api: Api, game: str, seat: int, token: str, *, added: str, pace_s: float) -> None:
        self._api, self._game, self._token, self._pace_s = Retrying(api), game, token, pace_s
        self.seat, self.added = seat, added

    async def play(self) -> None:
        """Plays until the match ends."""
        async with aclosing(followed(self._api, self._game, self._token)) as news:
            async for item in news:
                if self._is_called(item):
                    await self._take_turn()

    async def view(self) -> View:
        """What the seat sees now. It has options if, and only if, the seat is to move."""
        return (await self._api.get_game(pb.GetGameRequest(name=self._game), self._token)).view

    def _is_called(self, item: Game | EventBatch) -> bool:
        """Whether what has happened makes it the seat's turn."""
        if isinstance(item, Game):
            return item.view.HasField("turn") and item.view.turn == self.seat
        turns = [event.turn_started.seat for event in item.events if event.HasField("turn_started")]
        return bool(turns) and turns[-1] == self.seat

    async def _take_turn(self) -> None:
        """Acts, one action after the other, as long as it is the seat's turn.

        A request made for a version that is no longer the newest is ABORTED: then the seat looks again.
        """
        view = await self.view()
        while view.HasField("options"):
            await asyncio.sleep(self._pace_s)
            action = await choose(view, self._legal)
            request = pb.ActRequest(name=self._game, actions=[action], expected_version=view.version)
            try:
                view = (await self._api.act(request, self._token)).view
            except CallError as error:
                if error.reason != "VERSION_MISMATCH":
                    raise
                view = await self.view()

    async def _legal(self) -> AsyncIterator[Action]:
        """Every action that is legal now, page by page."""
        request = pb.ListLegalActionsRequest(name=self._game)
        while True:
            page = await self._api.list_legal_actions(request, self._token)
            for action in page.actions:
                yield action
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
