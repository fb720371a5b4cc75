"""What each method of GameService does: a message in, a use case, a message out. Both fronts call these."""

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.replay_pb2 import Replay

from engine.errors import BadRules, Fault
from service.api import rule_sets
from service.api.calls import Caller, Calls
from service.api.convert.actions import action_from, action_to
from service.api.convert.events import batch_to, event_to, timestamp
from service.api.convert.replays import replay_to
from service.api.convert.rules import faults_of
from service.api.convert.tables import game_to, view_to, wanted_from
from service.api.door import Door
from service.api.errors import Violation, bad_page_token, impossible, invalid
from service.games import read, seats
from service.games.act import act, dry_run, list_legal, suggest
from service.games.create import create
from service.games.desk import Desk
from service.games.observe import Heartbeat, observe
from service.games.poll import poll
from service.games.quick_join import quick_join
from service.games.rematch import rematch
from service.games.replay import get_replay
from service.games.seen import SeenBatch, SeenTable, see
from service.observability.account import note

__all__ = ["GameHandlers", "build_calls"]

_PAGE_TOKEN: Final = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")


def build_calls(desk: Desk, *, heartbeat_s: float, door: Door | None = None) -> Calls:
    """Every method of the API, over the use cases, behind the door."""
    door = door or Door()
    games = GameHandlers(desk, heartbeat_s, door)
    return Calls(
        {
            pb.DESCRIPTOR.services_by_name["GameService"]: {
                "CreateGame": games.create_game,
                "GetGame": games.get_game,
                "FindGame": games.find_game,
                "ListGames": games.list_games,
                "JoinGame": games.join_game,
                "QuickJoin": games.quick_join,
                "AddBot": games.add_bot,
                "ResumeSeat": games.resume_seat,
                "LeaveGame": games.leave_game,
                "Rematch": games.rematch,
                "StartGame": games.start_game,
                "Act": games.act,
                "ListLegalActions": games.list_legal_actions,
                "SuggestAction": games.suggest_action,
                "GetReplay": games.get_replay,
                "Observe": games.observe,
                "ListEvents": games.list_events,
            },
            rule_sets.SERVICE: rule_sets.HANDLERS,
        },
        door,
    )


class GameHandlers:
    """The methods of GameService. What they may raise is told in the protos."""

    def __init__(self, desk: Desk, heartbeat_s: float, door: Door) -> None:
        self._desk = desk
        self._heartbeat_s = heartbeat_s
        self._door = door

    async def create_game(self, request: pb.CreateGameRequest, caller: Caller) -> Game:
        """Creates a table."""
        with _playable(request.game):
            table = await create(
                self._desk,
                wanted_from(request.game),
                request_id=request.request_id,
                permit=self._door.tables_of(caller),
            )
        note(game=f"games/{table.game}", version=table.version)
        return game_to(see(self._desk, table, None))

    async def get_game(self, request: pb.GetGameRequest, caller: Caller) -> Game:
        """Gets a table."""
        return game_to(await read.get(self._desk, _game(request.name), caller.token))

    async def find_game(self, request: pb.FindGameRequest, _caller: Caller) -> Game:
        """Finds a private table by its code."""
        seen = await read.find(self._desk, request.code)
        note(game=f"games/{seen.game}", version=seen.version)
        return game_to(seen)

    async def list_games(self, request: pb.ListGamesRequest, _caller: Caller) -> pb.ListGamesResponse:
        """Lists open tables."""
        page = await read.list_open(
            self._desk,
            size=min(request.page_size or 20, 100),
            cursor=request.page_token,
            preset=request.preset,
            seat_count=request.seat_count,
        )
        return pb.ListGamesResponse(games=[game_to(table) for table in page.tables], next_page_token=page.next_cursor)

    async def join_game(self, request: pb.JoinGameRequest, _caller: Caller) -> pb.JoinGameResponse:
        """Takes a seat."""
        joined = await seats.join(
            self._desk,
            _game(request.name),
            display_name=request.display_name,
            seat=request.seat if request.HasField("seat") else None,
            entropy=request.entropy,
            request_id=request.request_id,
        )
        return self._joined(joined)

    async def quick_join(self, request: pb.QuickJoinRequest, caller: Caller) -> pb.JoinGameResponse:
        """Takes a seat at a table that is like the one asked for."""
        if request.game.visibility == Game.VISIBILITY_PRIVATE:
            raise invalid([Violation("game.visibility", "strangers are not led to a private table", "NOT_PUBLIC")])
        with _playable(request.game):
            joined = await quick_join(
                self._desk,
                wanted_from(request.game),
                display_name=request.display_name,
                entropy=request.entropy,
                request_id=request.request_id,
                permit=self._door.tables_of(caller),
            )
        return self._joined(joined)

    async def add_bot(self, request: pb.AddBotRequest, caller: Caller) -> Game:
        """Puts a bot on a seat."""
        seen = await seats.add_bot(
            self._desk,
            _game(request.name),
            caller.token,
            display_name=request.display_name,
            seat=request.seat if request.HasField("seat") else None,
            request_id=request.request_id,
        )
        return game_to(seen)

    async def resume_seat(self, request: pb.ResumeSeatRequest, caller: Caller) -> Game:
        """Gives a seat back to its player."""
        seen = await seats.resume(self._desk, _game(request.name), caller.token, request_id=request.request_id)
        return game_to(seen)

    async def leave_game(self, request: pb.LeaveGameRequest, caller: Caller) -> Game:
        """Gives up a seat. Who has left is a spectator."""
        table = await seats.leave(self._desk, _game(request.name), caller.token, request_id=request.request_id)
        note(version=table.version)
        return game_to(see(self._desk, table, None))

    async def rematch(self, request: pb.RematchRequest, caller: Caller) -> pb.JoinGameResponse:
        """Takes a place at the table that follows."""
        joined = await rematch(
            self._desk,
            _game(request.name),
            caller.token,
            entropy=request.entropy,
            request_id=request.request_id,
        )
        return self._joined(joined)

    async def start_game(self, request: pb.StartGameRequest, caller: Caller) -> Game:
        """Starts the match."""
        started = await seats.start(self._desk, _game(request.name), caller.token, request_id=request.request_id)
        return game_to(started)

    async def act(self, request: pb.ActRequest, caller: Caller) -> pb.ActResponse:
        """Plays, or tries out."""
        game, actions = _game(request.name), [action_from(action) for action in request.actions]
        expected = request.expected_version if request.HasField("expected_version") else None
        if request.validate_only:
            acted = await dry_run(self._desk, game, caller.token, actions, expected_version=expected)
        else:
            acted = await act(
                self._desk, game, caller.token, actions, request_id=request.request_id, expected_version=expected
            )
            if not acted.repeated:
                self._door.acted(request.name)
        return pb.ActResponse(
            version=acted.version, events=[event_to(event) for event in acted.events], view=view_to(acted.seen)
        )

    async def list_legal_actions(
        self, request: pb.ListLegalActionsRequest, caller: Caller
    ) -> pb.ListLegalActionsResponse:
        """Lists legal actions. A page token is the version and the number of actions given before."""
        version, start = _page(request.page_token)
        size = min(request.page_size or 200, 1000)
        legal = await list_legal(
            self._desk, _game(request.name), caller.token, start=start, size=size, at_version=version
        )
        return pb.ListLegalActionsResponse(
            actions=[action_to(action) for action in legal.actions],
            next_page_token=f"{legal.version}-{start + size}" if legal.more else "",
            version=legal.version,
        )

    async def suggest_action(self, request: pb.SuggestActionRequest, caller: Caller) -> pb.SuggestActionResponse:
        """Suggests an action."""
        suggested = await suggest(self._desk, _game(request.name), caller.token)
        return pb.SuggestActionResponse(action=action_to(suggested.action), version=suggested.version)

    async def get_replay(self, request: pb.GetReplayRequest, caller: Caller) -> Replay:
        """Gets the replay of a finished match."""
        return replay_to(await get_replay(self._desk, _game(request.name), caller.token))

    async def observe(self, request: pb.ObserveRequest, caller: Caller) -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table."""
        seen = observe(
            self._desk,
            _game(request.name),
            caller.token,
            after=request.after,
            epoch=request.epoch,
            mark=bytes.fromhex(request.mark),
            heartbeat_s=self._heartbeat_s,
        )
        async with aclosing(seen):
            async for item in seen:
                note(version=item.version)
                match item:
                    case SeenTable():
                        yield pb.ObserveResponse(snapshot=game_to(item), mark=item.mark.hex())
                    case SeenBatch():
                        yield pb.ObserveResponse(batch=batch_to(item), mark=item.mark.hex())
                    case Heartbeat():
                        beat = pb.ObserveResponse.Heartbeat(version=item.version, time=timestamp(item.time_ms))
                        yield pb.ObserveResponse(heartbeat=beat)

    async def list_events(self, request: pb.ListEventsRequest, caller: Caller) -> pb.ListEventsResponse:
        """Lists what has happened."""
        polled = await poll(
            self._desk,
            _game(request.name),
            caller.token,
            after=request.after,
            epoch=request.epoch,
            mark=bytes.fromhex(request.mark),
            size=min(request.page_size or 100, 100),
            wait_s=request.wait.ToNanoseconds() / 1e9,
        )
        note(version=polled.version)
        return pb.ListEventsResponse(
            snapshot=game_to(polled.snapshot) if polled.snapshot else None,
            batches=[batch_to(batch) for batch in polled.batches],
            version=polled.version,
            epoch=polled.epoch,
            mark=polled.mark.hex(),
            more=polled.more,
            over=polled.over,
        )

    def _joined(self, joined: seats.Joined) -> pb.JoinGameResponse:
        """A seat that was taken."""
        self._door.issued(joined.token)
        note(game=f"games/{joined.table.game}", seat=joined.seat, version=joined.table.version)
        game = game_to(see(self._desk, joined.table, joined.seat))
        return pb.JoinGameResponse(seat=joined.seat, token=joined.token, game=game)


def _game(name: str) -> str:
    """The game's id, out of its checked resource name."""
    return name.removeprefix("games/")


def _page(token: str) -> tuple[int | None, int]:
    """The version and the offset that a page token of ListLegalActions stands for."""
    if not token:
        return None, 0
    found = _PAGE_TOKEN.fullmatch(token)
    if not found:
        raise bad_page_token()
    return int(found[1]), int(found[2])


@contextmanager
def _playable(game: Game) -> Iterator[None]:
    """Turns the faults of a table that is asked for into violations of its fields."""
    try:
        yield
    except BadRules as error:
        found = faults_of(game.rule_set, error.faults, game.seat_count)
        raise impossible(_violation(fault) for fault in found) from error


def _violation(fault: Fault) -> Violation:
    """One fault of a table that was to be created."""
    field = "game.seat_count" if fault.field == "seat_count" else f"game.rule_set.{fault.field}"
    return Violation(field, fault.text, fault.reason)
