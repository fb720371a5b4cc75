"""The one way through for every call."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest
from google.protobuf.message import Message
from prometheus_client import REGISTRY
from rummy.v1 import action_pb2, game_pb2, game_service_pb2, rule_set_pb2, rule_set_service_pb2
from structlog.testing import capture_logs

from service.api.callers import new_call_id
from service.api.calls import Caller, Calls
from service.api.door import Door, Limits
from service.api.errors import ApiError
from service.api.keys import ApiKeys
from service.games.errors import GameError, GameReason
from service.store.errors import StoreUnavailable

SERVICE = game_service_pb2.DESCRIPTOR.services_by_name["GameService"]
METHODS = SERVICE.methods_by_name
CALLER = Caller(None, "the-call", "test")
GET = game_service_pb2.GetGameRequest(name="games/7k2m")
OBSERVE = game_service_pb2.ObserveRequest(name="games/7k2m")


@dataclass
class Handlers:
    """Handlers that answer, raise what they are told to, and remember."""

    raised: Exception | None = None
    requests: list[Message] = field(default_factory=list)
    closed: int = 0

    async def unary(self, request: Message, caller: Caller) -> Message:
        self.requests.append(request)
        if self.raised:
            raise self.raised
        return game_pb2.Game(name=caller.call_id)

    async def stream(self, request: Message, caller: Caller) -> AsyncGenerator[Message]:
        self.requests.append(request)
        try:
            yield game_service_pb2.ObserveResponse()
            if self.raised:
                raise self.raised
            yield game_service_pb2.ObserveResponse()
        finally:
            await asyncio.sleep(0)  # closing may take a turn of the loop
            self.closed += 1

    def calls(self, door: Door | None = None) -> Calls:
        handlers = {method.name: self.unary for method in SERVICE.methods}
        return Calls({SERVICE: {**handlers, "Observe": self.stream}}, door)


async def get(handlers: Handlers, request: Message = GET, method: str = "GetGame") -> Message:
    return await handlers.calls().unary(METHODS[method], request, CALLER)


async def observed(handlers: Handlers, request: Message = OBSERVE) -> list[Message]:
    async with aclosing(handlers.calls().stream(METHODS["Observe"], request, CALLER)) as answers:
        return [answer async for answer in answers]


async def test_a_call_gets_its_handlers_answer() -> None:
    """The request goes to the method's handler with who calls, and the handler's message comes back."""
    handlers = Handlers()
    assert await get(handlers) == game_pb2.Game(name="the-call")
    assert await observed(handlers) == [game_service_pb2.ObserveResponse()] * 2
    assert handlers.requests == [GET, OBSERVE]


async def test_what_lies_behind_a_lost_store_is_for_the_operator() -> None:
    """Why the store refuses is in the line of the call, and not in what its caller is told."""
    said = "Redis: OOM command not allowed when used memory > 'maxmemory'."
    handlers = Handlers(raised=StoreUnavailable(said))
    for call in (get(handlers), observed(handlers)):
        with capture_logs() as lines, pytest.raises(ApiError) as answered:
            await call
        assert [(line["reason"], line["why"]) for line in lines] == [("STORE_UNAVAILABLE", said)]
        assert "OOM" not in str(answered.value.status())


def test_every_method_is_counted_from_the_start() -> None:
    """Of each method each failure that is ours is shown over a front that is to serve it, and streams are."""
    Handlers().calls().expect("new")
    for method in SERVICE.methods:
        for code, reason in (
            ("OK", ""),
            ("UNAVAILABLE", "STORE_UNAVAILABLE"),
            ("UNAVAILABLE", "SERVER_DRAINING"),
            ("UNAVAILABLE", "NEWER_SCHEMA"),
            ("INTERNAL", "INTERNAL"),
        ):
            labels = {"method": method.full_name, "front": "new", "code": code, "reason": reason}
            assert REGISTRY.get_sample_value("rummyd_calls_total", labels) == 0
        streams = REGISTRY.get_sample_value("rummyd_open_streams", {"method": method.full_name, "front": "new"})
        assert streams == (0 if method.server_streaming else None)


async def test_a_table_that_is_called_too_often_is_named() -> None:
    """The line of a call that ran into a limit of a table says which; of a name that is none nothing is repeated."""
    calls = Handlers().calls(Door(Limits(watchers_per_table=1)))
    async with aclosing(calls.stream(METHODS["Observe"], OBSERVE, CALLER)) as first:
        await anext(first)
        with capture_logs() as lines:
            for request in (OBSERVE, game_service_pb2.ObserveRequest(name="games/A B")):
                with pytest.raises(ApiError):
                    await anext(calls.stream(METHODS["Observe"], request, CALLER))
    assert [(line["reason"], line.get("game")) for line in lines] == [
        ("LIMIT_EXCEEDED", "games/7k2m"),
        ("INVALID_FIELD", None),
    ]


def test_every_method_needs_a_handler() -> None:
    """A service with a method that nobody answers is a mistake of the code, and found when it starts."""
    with pytest.raises(KeyError):
        Calls({SERVICE: {"GetGame": Handlers().unary}})


LONG = "x" * 41
ACT = game_service_pb2.ActRequest(
    name="games/7k2m",
    actions=[
        action_pb2.Action(discard=action_pb2.Action.Discard(card="7H")),
        action_pb2.Action(lay_down=action_pb2.Action.LayDown(cards=["7H", "1H"])),
        action_pb2.Action(),
    ],
    request_id="no uuid",
)
CREATE = game_service_pb2.CreateGameRequest(game=game_pb2.Game(seat_count=9, display_name=LONG * 2))
CREATE.game.turn_limit.misses = -1
CREATE.game.rule_set.jokers = 9


UNPLAYABLE = game_pb2.Game(seat_count=9)
UNPLAYABLE.rule_set.MergeFrom(rule_set_pb2.RuleSet(preset="Gin", jokers=9, ace=rule_set_pb2.RuleSet.Ace.ValueType(9)))
UNPLAYABLE.rule_set.seats.least = 1


@pytest.mark.parametrize(
    ("method", "request_", "fields"),
    [
        ("GetGame", game_service_pb2.GetGameRequest(name="games/UPPER"), {"name"}),
        ("JoinGame", game_service_pb2.JoinGameRequest(name="x", display_name=LONG), {"name", "display_name"}),
        ("Act", ACT, {"actions[1].lay_down.cards[1]", "actions[2].action", "request_id"}),
        ("CreateGame", CREATE, {"game.display_name", "game.turn_limit.turn", "game.turn_limit.misses"}),
        ("CreateGame", game_service_pb2.CreateGameRequest(), {"game"}),
        ("ListGames", game_service_pb2.ListGamesRequest(page_size=-1), {"page_size"}),
    ],
)
async def test_a_bad_request_is_refused_with_every_fields_path(
    method: str, request_: Message, fields: set[str]
) -> None:
    """What breaks the protos' constraints never reaches the handler: all of it is named at once, by its path."""
    handlers = Handlers()
    with pytest.raises(ApiError) as refusal:
        await get(handlers, request_, method)
    assert refusal.value.reason == "INVALID_FIELD"
    assert {violation.field for violation in refusal.value.violations} == fields
    assert all(violation.text and violation.reason.isupper() for violation in refusal.value.violations)
    assert handlers.requests == []


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("CreateGame", game_service_pb2.CreateGameRequest(game=UNPLAYABLE)),
        ("QuickJoin", game_service_pb2.QuickJoinRequest(game=UNPLAYABLE, display_name="Ann")),
    ],
)
async def test_a_rule_set_is_not_judged_field_by_field(method: str, request_: Message) -> None:
    """A value out of its range in a rule set reaches the handler, which tells all faults of rule sets at once."""
    handlers = Handlers()
    await get(handlers, request_, method)
    assert handlers.requests == [request_]


async def test_a_bad_request_of_a_stream_is_refused() -> None:
    """A stream is checked like any other call, before its first message."""
    handlers = Handlers()
    with pytest.raises(ApiError) as refusal:
        await observed(handlers, game_service_pb2.ObserveRequest(name="x", after=-1))
    assert {violation.field for violation in refusal.value.violations} == {"name", "after"}
    assert handlers.requests == []


@pytest.mark.parametrize("ask", [get, observed])
async def test_a_refusal_below_is_an_answer(ask: Callable[..., object]) -> None:
    """What a use case refuses comes out as an error of the API, from a call as from a stream, and is no crash."""
    with capture_logs() as logs, pytest.raises(ApiError) as refusal:
        await ask(Handlers(GameError(GameReason.GAME_OVER, "why")))  # type: ignore[misc]
    assert (refusal.value.reason, refusal.value.text) == ("GAME_OVER", "why")
    assert [(line["event"], line["log_level"], line["reason"]) for line in logs] == [("call", "info", "GAME_OVER")]


@pytest.mark.parametrize("ask", [get, observed])
async def test_a_crash_is_logged_once_and_tells_nothing(ask: Callable[..., object]) -> None:
    """An unexpected exception is INTERNAL with the call's id; its traceback is in the log, once, and nowhere else."""
    with capture_logs() as logs, pytest.raises(ApiError) as refusal:
        await ask(Handlers(RuntimeError("rst_secret")))  # type: ignore[misc]
    assert (refusal.value.reason, refusal.value.metadata) == ("INTERNAL", {"call_id": "the-call"})
    assert "rst_secret" not in str(refusal.value.status())
    assert [(line["event"], line["log_level"]) for line in logs] == [("call_crashed", "error"), ("call", "error")]
    assert [bool(line.get("exc_info")) for line in logs] == [True, False]


async def test_a_stream_given_up_is_closed_below() -> None:
    """When the caller goes away in the middle the handler's stream has been closed by the time that the caller's is."""
    handlers = Handlers()
    answers = handlers.calls().stream(METHODS["Observe"], OBSERVE, CALLER)
    with capture_logs() as logs:
        await anext(answers)
        assert handlers.closed == 0
        await answers.aclose()
    assert handlers.closed == 1
    assert [line["code"] for line in logs] == ["CANCELLED"]


async def test_a_call_given_up_stays_given_up() -> None:
    """A cancelled call is no error of the server: it is let through, and accounted for as cancelled."""
    waiting = asyncio.Event()

    class Slow(Handlers):
        async def unary(self, request: Message, caller: Caller) -> Message:
            waiting.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    with capture_logs() as logs:
        call = asyncio.create_task(get(Slow()))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert [line["code"] for line in logs] == ["CANCELLED"]


def test_call_ids_are_not_given_twice() -> None:
    """A call that brings no id gets one of its own, of 16 hex digits."""
    ids = {new_call_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(call_id) == 16 and int(call_id, 16) >= 0 for call_id in ids)


def test_every_service_is_answered() -> None:
    """The services are told in the order in which they were given, for the fronts to serve."""
    rule_sets = rule_set_service_pb2.DESCRIPTOR.services_by_name["RuleSetService"]
    handlers = {method.name: Handlers().unary for method in (*SERVICE.methods, *rule_sets.methods)}
    assert Calls({SERVICE: handlers, rule_sets: handlers}).services == (SERVICE, rule_sets)


async def test_a_call_that_comes_too_late_is_turned_away() -> None:
    """From when the calls are drained new ones are refused, streams too, and those under way are answered."""
    handlers = Handlers()
    calls = handlers.calls()
    async with aclosing(calls.stream(METHODS["Observe"], OBSERVE, CALLER)) as under_way:
        await anext(under_way)
        await calls.drain(0.01, 60)
        for late in (
            calls.unary(METHODS["GetGame"], GET, CALLER),
            anext(calls.stream(METHODS["Observe"], OBSERVE, CALLER)),
        ):
            with pytest.raises(ApiError) as refused:
                await late
            assert (refused.value.reason, refused.value.code_name) == ("SERVER_DRAINING", "UNAVAILABLE")
        assert await anext(under_way) == game_service_pb2.ObserveResponse()
    assert handlers.requests == [OBSERVE]


async def test_calls_are_drained_once_none_comes() -> None:
    """The drain lasts until nobody has called for a while, or as long as it may."""
    calls = Handlers().calls()
    loop = asyncio.get_running_loop()
    times = [loop.time()]
    draining = asyncio.create_task(calls.drain(0.2, 60))
    await asyncio.sleep(0)
    while len(times) <= 10 and not draining.done():  # a machine that stands still between two calls is quiet, too
        times.append(loop.time())
        with pytest.raises(ApiError):
            await calls.unary(METHODS["GetGame"], GET, CALLER)
        await asyncio.wait([draining], timeout=0.05)
    await draining
    times.append(loop.time())
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.19

    async def call_on() -> None:
        while True:
            with pytest.raises(ApiError):
                await calls.unary(METHODS["GetGame"], GET, CALLER)
            await asyncio.sleep(0)

    calling = asyncio.create_task(call_on())
    async with asyncio.timeout(60):
        await calls.drain(20, 0.1)
    calling.cancel()


async def test_a_call_beyond_a_limit_is_refused_before_it_is_looked_at() -> None:
    """The door comes first: a refused call is not handled, whether it is in order or not, and its line says why."""
    handlers = Handlers()
    calls = handlers.calls(Door(Limits(calls_per_second=0.001)))
    await calls.unary(METHODS["GetGame"], GET, CALLER)
    for request in (GET, game_service_pb2.GetGameRequest()):
        with capture_logs() as lines, pytest.raises(ApiError, match="LIMIT_EXCEEDED"):
            await calls.unary(METHODS["GetGame"], request, CALLER)
        (line,) = lines
        assert (line["code"], line["reason"], line["limit"]) == (
            "RESOURCE_EXHAUSTED",
            "LIMIT_EXCEEDED",
            "calls_per_second",
        )
    assert handlers.requests == [GET]


async def test_a_stream_counts_as_open_until_it_is_closed() -> None:
    """A stream holds its place until it ends or is given up, even where that is in the middle."""
    handlers = Handlers()
    calls = handlers.calls(Door(Limits(streams_per_caller=1)))
    first = calls.stream(METHODS["Observe"], OBSERVE, CALLER)
    await anext(first)
    with pytest.raises(ApiError, match="LIMIT_EXCEEDED"):
        await anext(calls.stream(METHODS["Observe"], OBSERVE, CALLER))
    await first.aclose()
    async with aclosing(calls.stream(METHODS["Observe"], OBSERVE, CALLER)) as second:
        assert len([answer async for answer in second]) == 2


async def test_the_name_of_a_key_is_logged_and_never_the_key() -> None:
    """A call's line says whose API key it was made with."""
    handlers, key = Handlers(), "0123456789abcdef"
    calls = handlers.calls(Door(keys=ApiKeys.parse(f"shop:{key}")))
    request = game_service_pb2.CreateGameRequest(game=game_pb2.Game(seat_count=2))
    with capture_logs() as lines:
        await calls.unary(METHODS["CreateGame"], request, Caller(None, "c", "test", api_key=key))
    assert lines[0]["api_key"] == "shop"
    assert key not in str(lines)
