"""The clients that come with rummyd, who make every call that there is."""

from collections.abc import AsyncGenerator

import pytest
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1 import rule_set_service_pb2 as rules_pb
from rummy.v1.game_pb2 import Game

from clients.api import Answer, Api, CallError
from clients.methods import METHODS, method_of
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from tests.e2e.live import Rummyd
from tests.e2e.players import game_of, new_id


class Noted(Api):
    """Another `Api`, and the names of the methods that it was asked for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.asked = set[str]()

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        self.asked.add(method_of(request).name)
        return await self._api.call(request, answer, token)

    def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        self.asked.add(method_of(request).name)
        return self._api.observe(request, token)

    async def close(self) -> None:
        await self._api.close()


@pytest.mark.parametrize("front", ["grpc", "rest"])
async def test_the_clients_do_all_of_it(rummyd: Rummyd, front: str) -> None:
    """Over either front the client makes every call that there is, with the answers that the API promises."""
    async with Noted(GrpcApi(rummyd.grpc) if front == "grpc" else RestApi(rummyd.rest)) as api:
        await _rules(api)
        await _lobby(api)
        await _next_match(api, *await _match(api, jokers=5 if front == "grpc" else 6))
    assert api.asked == {method.name for method in METHODS.values()}


async def _rules(api: Api) -> None:
    presets = (await api.list_rule_sets(rules_pb.ListRuleSetsRequest(page_size=2))).rule_sets
    assert [await api.get_rule_set(rules_pb.GetRuleSetRequest(name=preset.name)) for preset in presets] == presets
    checked = await api.check_rule_set(rules_pb.CheckRuleSetRequest(rule_set=presets[0], seat_count=99))
    assert [fault.field for fault in checked.faults] == ["seat_count"]


async def _lobby(api: Api) -> None:
    """A table is found, a bot sits down there, and they begin before the last seat is taken."""
    name = (await api.create_game(pb.CreateGameRequest(game=game_of(3), request_id=new_id()))).name
    assert name in {game.name for game in (await api.list_games(pb.ListGamesRequest(page_size=100))).games}
    joined = await api.join_game(pb.JoinGameRequest(name=name, display_name="Ann", seat=1))
    assert (await api.add_bot(pb.AddBotRequest(name=name), joined.token)).seats[0].bot
    assert (await api.start_game(pb.StartGameRequest(name=name), joined.token)).state == Game.STATE_PLAYING


async def _match(api: Api, jokers: int) -> tuple[str, list[str]]:
    """Two who come at once play as they are advised to, and look back on it; gives the table and their tokens."""
    ask = pb.QuickJoinRequest(game=game_of(2, roundLimit=1, jokers=jokers), display_name="Ann", request_id=new_id())
    first = await api.quick_join(ask)
    assert (await api.quick_join(ask)).token == first.token
    second = await api.quick_join(pb.QuickJoinRequest(game=ask.game, display_name="Bob"))
    name, tokens, view = first.game.name, [first.token, second.token], second.game.view
    assert (await api.resume_seat(pb.ResumeSeatRequest(name=name), first.token)).version == view.version
    while view.HasField("turn"):
        token = tokens[view.turn]
        hint = await api.suggest_action(pb.SuggestActionRequest(name=name), token)
        assert hint.action in (await api.list_legal_actions(pb.ListLegalActionsRequest(name=name), token)).actions
        act = pb.ActRequest(name=name, actions=[hint.action], expected_version=hint.version)
        view = (await api.act(act, token)).view
    assert (await api.get_game(pb.GetGameRequest(name=name), tokens[1])).view.seat == 1
    page = await api.list_events(pb.ListEventsRequest(name=name, after=3, epoch=first.game.epoch))
    observe = pb.ObserveRequest(name=name, after=3, epoch=page.epoch)
    assert [message.batch async for message in api.observe(observe)] == page.batches
    assert page.version == view.version
    assert (await api.get_replay(pb.GetReplayRequest(name=name))).scores == view.result.scores
    return name, tokens


async def _next_match(api: Api, name: str, tokens: list[str]) -> None:
    """One of them comes to the next table, where the other finds him by the code, and leaves it again."""
    again = await api.rematch(pb.RematchRequest(name=name, request_id=new_id()), tokens[1])
    assert again.seat == 1
    assert (await api.find_game(pb.FindGameRequest(code=again.game.join_code))).name == again.game.name
    with pytest.raises(CallError) as refusal:
        await api.rematch(pb.RematchRequest(name=again.game.name), again.token)
    assert refusal.value.reason == "GAME_NOT_OVER"
    left = await api.leave_game(pb.LeaveGameRequest(name=again.game.name), again.token)
    assert left.seats[1].state == Game.Seat.STATE_FREE
