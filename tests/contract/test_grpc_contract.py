"""gRPC describes itself: a client that knows nothing but an address can make every call, and read every refusal."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from rummy.v1 import action_pb2, card_pb2, game_pb2, game_service_pb2, rule_set_pb2, rule_set_service_pb2

from tests.e2e.clients import Failure, GrpcClient, RestClient, failure_of
from tests.e2e.live import LONGEST_S, Rummyd

GAMES, RULE_SETS, HEALTH = "rummy.v1.GameService", "rummy.v1.RuleSetService", "grpc.health.v1.Health"
REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


class GenericClient:
    """Makes any call, with what reflection tells of it. Requests and answers are JSON."""

    def __init__(self, channel: grpc.Channel) -> None:
        database = ProtoReflectionDescriptorDatabase(channel)
        self._channel = channel
        self._pool = DescriptorPool(database)
        self.services: frozenset[str] = frozenset(database.get_services())
        self.made: set[str] = set()

    def methods(self) -> set[str]:
        """The full name of every method that the server has, but for reflection's own."""
        services = [self._pool.FindServiceByName(name) for name in self.services - {REFLECTION}]
        return {method.full_name for service in services for method in service.methods}

    def call(self, service: str, name: str, request: Mapping[str, Any], token: str = "") -> dict[str, Any]:
        """The answer to a call, or the first of a stream. Raises Failure."""
        method = self._pool.FindServiceByName(service).methods_by_name[name]
        make = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        ask: Callable[..., Any] = make(
            f"/{service}/{name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        answer = ask(self._message(method, request), metadata=metadata, timeout=LONGEST_S)
        if method.server_streaming:
            stream, answer = answer, next(answer)
            stream.cancel()
        self.made.add(method.full_name)
        return json_format.MessageToDict(answer, descriptor_pool=self._pool)

    def refusal(self, service: str, name: str, request: Mapping[str, Any], token: str = "") -> Failure:
        """What a call is refused with."""
        with pytest.raises(grpc.RpcError) as caught:
            self.call(service, name, request, token)
        error = caught.value
        assert isinstance(error, grpc.Call)
        status = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
        assert (status.code, status.message) == (error.code().value[0], error.details())
        return failure_of(error.code().name, status.message, status.details)

    def _message(self, method: MethodDescriptor, request: Mapping[str, Any]) -> Message:
        message = GetMessageClass(method.input_type)()
        return json_format.ParseDict(dict(request), message, descriptor_pool=self._pool)


@pytest.fixture
def generic(rummyd: Rummyd) -> Iterator[GenericClient]:
    """A client that knows the server's address."""
    with grpc.insecure_channel(rummyd.grpc) as channel:
        yield GenericClient(channel)


def table(generic: GenericClient, *, players: int = 2, **rules: object) -> tuple[str, list[str]]:
    """A table of two seats with so many players: its name, and their tokens."""
    game = {"seatCount": 2, "ruleSet": {"preset": "basic", **rules}}
    name = generic.call(GAMES, "CreateGame", {"game": game})["name"]
    joins = [generic.call(GAMES, "JoinGame", {"name": name, "displayName": "Ann"}) for _ in range(players)]
    return name, [join["token"] for join in joins]


def test_every_method_can_be_called_by_reflection_alone(generic: GenericClient) -> None:
    """Reflection tells enough to call each method of each service, and to play a match."""
    assert generic.services == {GAMES, RULE_SETS, HEALTH, REFLECTION}
    name, tokens = table(generic, roundLimit=1)
    assert generic.call(GAMES, "ListLegalActions", {"name": name}, tokens[0])["actions"] == [
        {"draw": {}},
        {"take": {"count": 1}},
    ]
    assert generic.call(GAMES, "SuggestAction", {"name": name}, tokens[0])["action"].keys() <= {"draw", "take"}
    for token in tokens:
        drawn = generic.call(GAMES, "Act", {"name": name, "actions": [{"draw": {}}]}, token)
        discard = {"discard": {"card": drawn["view"]["options"]["discard"][0]}}
        generic.call(GAMES, "Act", {"name": name, "actions": [discard]}, token)
    assert generic.call(GAMES, "GetGame", {"name": name})["state"] == "STATE_FINISHED"
    assert generic.call(GAMES, "Observe", {"name": name})["snapshot"]["name"] == name
    assert generic.call(GAMES, "ListEvents", {"name": name, "after": 1, "pageSize": 1})["more"]
    assert generic.call(GAMES, "GetReplay", {"name": name})["seats"] == 2
    again = generic.call(GAMES, "Rematch", {"name": name}, tokens[0])
    assert generic.call(GAMES, "GetGame", {"name": name}, tokens[1])["rematch"] == again["game"]["name"]
    waiting, tokens = table(generic, players=1)
    assert waiting in {game["name"] for game in generic.call(GAMES, "ListGames", {})["games"]}
    generic.call(GAMES, "JoinGame", {"name": waiting, "displayName": "Bob"})
    assert generic.call(GAMES, "LeaveGame", {"name": waiting}, tokens[0])["state"] == "STATE_PLAYING"
    three = generic.call(GAMES, "CreateGame", {"game": {"seatCount": 3}})["name"]
    token = [generic.call(GAMES, "JoinGame", {"name": three, "displayName": "Ann"})["token"] for _ in range(2)][1]
    assert generic.call(GAMES, "StartGame", {"name": three}, token)["view"]["seat"] == 1
    four = generic.call(GAMES, "CreateGame", {"game": {"seatCount": 4, "turnLimit": {"turn": "30s"}}})["name"]
    token = generic.call(GAMES, "JoinGame", {"name": four, "displayName": "Ann"})["token"]
    assert generic.call(GAMES, "AddBot", {"name": four}, token)["seats"][1]["bot"]
    generic.call(GAMES, "StartGame", {"name": four}, token)
    assert generic.call(GAMES, "ResumeSeat", {"name": four}, token)["turnLimit"] == {
        "turn": "30s",
        "bank": "0s",
        "misses": 2,
    }
    # Of a limit of its own: else it could lead to a table that another test has left open.
    own = {"seatCount": 2, "displayName": "Quick", "turnLimit": {"turn": "4711s"}}
    quick = {"game": own, "displayName": "Ann"}
    assert generic.call(GAMES, "QuickJoin", quick)["game"]["displayName"] == "Quick"
    private = generic.call(GAMES, "CreateGame", {"game": {"seatCount": 2, "visibility": "VISIBILITY_PRIVATE"}})
    assert generic.call(GAMES, "FindGame", {"code": private["joinCode"].lower()}) == private
    assert len(generic.call(RULE_SETS, "ListRuleSets", {})["ruleSets"]) == 5
    assert generic.call(RULE_SETS, "GetRuleSet", {"name": "ruleSets/pool500"})["jokers"] == 2
    bad = {"ruleSet": {"preset": "basic", "deals": 0, "jokers": 99}, "seatCount": 9}
    faults = generic.call(RULE_SETS, "CheckRuleSet", bad)["faults"]
    assert {fault["field"] for fault in faults} == {"deals", "jokers", "seat_count"}
    for method in ("Check", "Watch"):
        assert generic.call(HEALTH, method, {"service": GAMES})["status"] == "SERVING"
    assert set(generic.call(HEALTH, "List", {})["statuses"]) >= {GAMES, RULE_SETS}
    assert generic.made == generic.methods()


def test_every_refusal_can_be_read(generic: GenericClient) -> None:
    """Each refusal has a code and an ErrorInfo of rummyd's: the reason, and what else a program may want to know."""
    name, tokens = table(generic)
    hand = generic.call(GAMES, "GetGame", {"name": name}, tokens[0])["view"]["hand"]
    absent = next(
        card for card in ("AS", "2S", "3S", "4S", "5S", "6S", "7S", "8S", "9S", "TS", "JS") if card not in hand
    )
    waiting, (waiter,) = table(generic, players=1)
    given_up, leavers = table(generic)
    for leaver in leavers:
        generic.call(GAMES, "LeaveGame", {"name": given_up}, leaver)
    closed = {"seatCount": 2, "spectators": "SPECTATORS_NOT_ALLOWED"}
    closed_name = generic.call(GAMES, "CreateGame", {"game": closed})["name"]

    def act(*actions: dict[str, Any], at: str = name, token: str = tokens[0], **more: object) -> Failure:
        return generic.refusal(GAMES, "Act", {"name": at, "actions": list(actions), **more}, token)

    def join(at: str, **more: object) -> Failure:
        return generic.refusal(GAMES, "JoinGame", {"name": at, "displayName": "Bob", **more})

    draw: dict[str, Any] = {"draw": {}}
    discard = {"discard": {"card": absent}}
    refusals = [
        (act(draw, at="games/nowhere"), "NOT_FOUND", "GAME_NOT_FOUND", {"game": "games/nowhere"}),
        (act(draw, token=""), "UNAUTHENTICATED", "TOKEN_REQUIRED", {}),
        (act(draw, token=waiter), "UNAUTHENTICATED", "TOKEN_INVALID", {}),
        (act(draw, token=tokens[1]), "FAILED_PRECONDITION", "NOT_YOUR_TURN", {"clause": "B2"}),
        (act(discard), "FAILED_PRECONDITION", "WRONG_PHASE", {"clause": "B6"}),
        (act(draw, expectedVersion=1), "ABORTED", "VERSION_MISMATCH", {"current_version": "3"}),
        (act(draw, draw), "INVALID_ARGUMENT", "ACTION_AFTER_DRAW", {}),
        (act({"take": {"count": 2}}), "FAILED_PRECONDITION", "DISCARD_PILE_CLOSED", {"rule": "discard_draw"}),
        (act(draw, at=waiting, token=waiter), "FAILED_PRECONDITION", "GAME_NOT_STARTED", {}),
        (join(name), "FAILED_PRECONDITION", "GAME_NOT_OPEN", {"state": "playing"}),
        (join(waiting, seat=0), "FAILED_PRECONDITION", "SEAT_TAKEN", {"seat": "0", "free_seats": "1"}),
        (join(waiting, seat=8), "INVALID_ARGUMENT", "INVALID_FIELD", {}),
        (
            generic.refusal(GAMES, "StartGame", {"name": waiting}, waiter),
            "FAILED_PRECONDITION",
            "TOO_FEW_PLAYERS",
            {"players": "1", "least": "2"},
        ),
        (generic.refusal(GAMES, "LeaveGame", {"name": given_up}, leavers[0]), "UNAUTHENTICATED", "TOKEN_INVALID", {}),
        (generic.refusal(GAMES, "Rematch", {"name": name}, tokens[0]), "FAILED_PRECONDITION", "GAME_NOT_OVER", {}),
        (generic.refusal(GAMES, "GetReplay", {"name": name}), "FAILED_PRECONDITION", "GAME_NOT_OVER", {}),
        (
            generic.refusal(GAMES, "Observe", {"name": closed_name}),
            "PERMISSION_DENIED",
            "SPECTATORS_NOT_ALLOWED",
            {},
        ),
        (generic.refusal(GAMES, "FindGame", {"code": "ZZZ ZZZ"}), "NOT_FOUND", "CODE_NOT_FOUND", {}),
        (generic.refusal(GAMES, "ListGames", {"pageToken": "?"}), "INVALID_ARGUMENT", "INVALID_PAGE_TOKEN", {}),
        (generic.refusal(GAMES, "Observe", {"name": name, "after": -1}), "INVALID_ARGUMENT", "INVALID_FIELD", {}),
        (generic.refusal(GAMES, "ListEvents", {"name": name, "wait": "31s"}), "INVALID_ARGUMENT", "INVALID_FIELD", {}),
        (generic.refusal(RULE_SETS, "GetRuleSet", {"name": "ruleSets/whist"}), "NOT_FOUND", "RULE_SET_NOT_FOUND", {}),
    ]
    for failure, code, reason, metadata in refusals:
        assert (failure.code, failure.reason) == (code, reason)
        assert failure.text
        assert metadata.items() <= failure.metadata.items()


SENSE: tuple[Message, ...] = (
    game_service_pb2.CreateGameRequest(game=game_pb2.Game(seat_count=2), request_id=str(UUID(int=7, version=4))),
    game_service_pb2.JoinGameRequest(name="games/nowhere", display_name="Ann", seat=1),
    game_service_pb2.ActRequest(
        name="games/nowhere",
        actions=[
            action_pb2.Action(
                lay_down=action_pb2.Action.LayDown(cards=["7H", "JK", "JK"], kind=card_pb2.MELD_KIND_RUN)
            ),
            action_pb2.Action(lay_off=action_pb2.Action.LayOff(meld=1, cards=["AS"], end=card_pb2.END_HIGH)),
        ],
        expected_version=3,
    ),
    game_service_pb2.ObserveRequest(name="games/nowhere", after=3, epoch="0a"),
    game_service_pb2.ListEventsRequest(name="games/nowhere", after=3, epoch="0a", page_size=7),
    rule_set_service_pb2.CheckRuleSetRequest(rule_set=rule_set_pb2.RuleSet(preset="basic", jokers=2), seat_count=3),
)


def test_nonsense_is_no_server_error(rummyd: Rummyd) -> None:
    """Bytes at random, and requests with some bytes changed, are answered or refused, and never a server's error."""
    chance = random.Random(1)  # noqa: S311  the same in every run
    files = (game_service_pb2.DESCRIPTOR, rule_set_service_pb2.DESCRIPTOR)
    methods = [method for file in files for service in file.services_by_name.values() for method in service.methods]
    seen = Counter[grpc.StatusCode]()
    with grpc.insecure_channel(rummyd.grpc) as channel:
        for _ in range(600):
            method = chance.choice(methods)
            sent = chance.choice([*SENSE, None])
            data = bytearray(chance.randbytes(chance.randrange(60)) if sent is None else sent.SerializeToString())
            for _ in range(chance.randrange(3) if data else 0):
                data[chance.randrange(len(data))] = chance.randrange(256)
            seen[code_of(channel, method, bytes(data))] += 1
    assert seen.keys() <= {
        grpc.StatusCode.OK,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.UNAUTHENTICATED,
    }
    assert (
        min(seen[code] for code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND))
        > 5
    )


def code_of(channel: grpc.Channel, method: MethodDescriptor, data: bytes) -> grpc.StatusCode:
    """What a call of these bytes comes to."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    make = channel.unary_stream if method.server_streaming else channel.unary_unary
    ask: Callable[..., Any] = make(path)
    try:
        answer = ask(data, timeout=LONGEST_S)
        if method.server_streaming:
            next(answer)
            answer.cancel()
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


def rules(**fields: Any) -> rule_set_pb2.RuleSet:
    """A rule set that may be wrong."""
    return json_format.ParseDict({"preset": "basic", **fields}, rule_set_pb2.RuleSet())


def create(seat_count: int, request_id: str = "", **fields: Any) -> game_service_pb2.CreateGameRequest:
    """A table to create that may be wrong."""
    game = game_pb2.Game(seat_count=seat_count, rule_set=rules(**fields))
    return game_service_pb2.CreateGameRequest(game=game, request_id=request_id)


def act(*actions: Mapping[str, Any], name: str = "games/nowhere", **fields: Any) -> game_service_pb2.ActRequest:
    """Actions that may be wrong."""
    request = {"name": name, "actions": list(actions), **fields}
    return json_format.ParseDict(request, game_service_pb2.ActRequest())


BAD: dict[str, tuple[Message, tuple[str, ...]]] = {
    "too few seats": (create(1), ("game.seat_count",)),
    "bad rules": (
        create(0, jokers=9, packs=9, seats={"least": 1, "most": 9}, deals=0, setMin=0),
        (
            "game.rule_set.seats",
            "game.rule_set.packs",
            "game.rule_set.jokers",
            "game.rule_set.set_min",
            "game.rule_set.deals",
            "game.seat_count",
        ),
    ),
    "bad id, and bad rules": (create(0, "x", jokers=9), ("request_id",)),
    "impossible rules": (
        create(
            2, deals=0, handSize=40, stockEmpty="STOCK_EMPTY_END_DEAL", useTaken=True, discardDraw="DISCARD_DRAW_NONE"
        ),
        ("game.rule_set.hand_size", "game.rule_set.deals", "game.rule_set.use_taken"),
    ),
    "no such preset": (create(2, preset="whist"), ("game.rule_set.preset",)),
    "long name": (
        game_service_pb2.CreateGameRequest(game=game_pb2.Game(seat_count=2, display_name="x" * 81)),
        ("game.display_name",),
    ),
    "name of a screen": (
        game_service_pb2.CreateGameRequest(game=game_pb2.Game(seat_count=2, display_name="\x1b[2J")),
        ("game.display_name",),
    ),
    "name on two lines": (
        game_service_pb2.JoinGameRequest(name="games/a", display_name="Ann\nBob"),
        ("display_name",),
    ),
    "nobody quickly": (
        game_service_pb2.QuickJoinRequest(game=game_pb2.Game(seat_count=2), display_name="\x00"),
        ("display_name",),
    ),
    "bot without words": (game_service_pb2.AddBotRequest(name="games/a", display_name="\x9b"), ("display_name",)),
    "nobody to be seen": (
        game_service_pb2.JoinGameRequest(name="games/a", display_name="\u202e\u200b"),
        ("display_name",),
    ),
    "an id to be guessed": (
        game_service_pb2.JoinGameRequest(name="games/a", display_name="Ann", request_id=str(UUID(int=0))),
        ("request_id",),
    ),
    "no code": (game_service_pb2.FindGameRequest(code="K7M2Q0"), ("code",)),
    "quick, private": (
        game_service_pb2.QuickJoinRequest(
            game=game_pb2.Game(seat_count=2, visibility=game_pb2.Game.VISIBILITY_PRIVATE), display_name="Ann"
        ),
        ("game.visibility",),
    ),
    "quick and bad": (game_service_pb2.QuickJoinRequest(entropy="ä"), ("game", "display_name", "entropy")),
    "no name": (game_service_pb2.GetGameRequest(name="games/A"), ("name",)),
    "nobody": (game_service_pb2.JoinGameRequest(name="games/a", seat=8), ("display_name", "seat")),
    "no action": (act(), ("actions",)),
    "empty action": (act({}), ("actions[0].action",)),
    "no card": (act({"layDown": {"cards": ["AS", "ZZ"]}}), ("actions[0].lay_down.cards[1]",)),
    "no cards": (act({"draw": {}}, {"layDown": {}}), ("actions[1].lay_down.cards",)),
    "no joker": (
        act({"swapJoker": {"meld": -1, "card": "JK"}}),
        ("actions[0].swap_joker.meld", "actions[0].swap_joker.card"),
    ),
    "too many": (act(*[{"passTurn": {}}] * 65), ("actions",)),
    "no version": (act({"take": {}}, expectedVersion=0), ("actions[0].take.count", "expected_version")),
    "bad page": (game_service_pb2.ListGamesRequest(page_size=-1, page_token="x" * 201), ("page_size", "page_token")),
    "no page": (game_service_pb2.ListGamesRequest(page_token="?"), ("page_token",)),  # noqa: S106  no secret
    "bad rule set": (rule_set_service_pb2.GetRuleSetRequest(name="ruleSets/_"), ("name",)),
}


@pytest.mark.parametrize("case", BAD)
async def test_both_fronts_name_the_same_fields(rummyd: Rummyd, case: str) -> None:
    """A bad request is refused over gRPC and REST with one reason, and the path of each bad field, all at once.

    Over gRPC paths are those of the protos; over REST they are in camel case, and begin where the body does.
    """
    request, paths = BAD[case]
    refused = []
    async with AsyncExitStack() as stack:
        for front in (GrpcClient, RestClient):
            client = await stack.enter_async_context(front(rummyd))
            with pytest.raises(Failure) as caught:
                await client.ask(request, game_pb2.Game)
            refused.append(caught.value)
    grpc_failure, rest_failure = refused
    assert (grpc_failure.code, grpc_failure.reason) == (rest_failure.code, rest_failure.reason)
    of_create = isinstance(request, game_service_pb2.CreateGameRequest)
    named = [(_as_json(path, of_create=of_create), reason) for path, reason in grpc_failure.fields]
    assert sorted(named) == sorted(rest_failure.fields)
    renamed = {path for path, _ in grpc_failure.fields} - {path for path, _ in rest_failure.fields}
    assert not any(f"{path}: " in rest_failure.text for path in renamed)
    assert grpc_failure.code == "INVALID_ARGUMENT"
    assert sorted(path for path, _ in grpc_failure.fields) == sorted(paths)


def _as_json(path: str, *, of_create: bool) -> str:
    """A path of the protos as REST has it, whose body is the game where one is created."""
    if of_create and path != "game":
        path = path.removeprefix("game.")
    return re.sub("_([a-z])", lambda found: found[1].upper(), "body" if of_create and path == "game" else path)
