"""What a server does with tables that a newer release has stored: it says so, and leaves them alone."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec.structs import replace
from rummy.v1 import action_pb2
from rummy.v1 import game_service_pb2 as pb

from service.api.calls import Caller, Calls
from service.api.errors import ApiError
from service.api.handlers import build_calls
from service.clock import Clock
from service.games.desk import Desk
from service.observability import metrics
from service.store.codec import encode_table
from service.store.store import Options, Store
from service.store.table import SCHEMA
from tests.patience import patient
from tests.service.games.tables import Match, opened, playing, stored
from tests.service.store.rewind import keep

METHODS = pb.DESCRIPTOR.services_by_name["GameService"].methods_by_name
ABOUT_A_TABLE = [name for name, method in METHODS.items() if "name" in method.input_type.fields_by_name]


@pytest.fixture
async def desk(redis_url: str) -> AsyncIterator[Desk]:
    store = await Store.connect(redis_url, patient(Options(namespace=f"test-{uuid4().hex}")))
    yield Desk(store)
    await store.close()


async def made_newer(desk: Desk, game: str) -> None:
    """Has the game be one that the next release has stored, which nobody here has seen before."""
    table = replace(await stored(desk, game), schema=SCHEMA + 1)
    store = desk.store
    await store._link.client.hset(store._keys.of(game).game, "table", encode_table(table))
    desk.last_seen.forget(game)


def request_to(method: str, game: str) -> Message:
    """A request of the method about this table, well formed."""
    request = GetMessageClass(METHODS[method].input_type)(name=f"games/{game}")
    fields = METHODS[method].input_type.fields_by_name
    if "display_name" in fields:
        request.display_name = "Ann"  # type: ignore[attr-defined]
    if "request_id" in fields:
        request.request_id = str(uuid4())  # type: ignore[attr-defined]
    if "actions" in fields:
        request.actions.add(draw=action_pb2.Action.Draw())  # type: ignore[attr-defined]
    return request


async def asked(calls: Calls, method: str, request: Message, token: str) -> None:
    """Calls a method, or has the first message of its stream."""
    caller = Caller(token, "the-call", "test")
    if METHODS[method].server_streaming:
        async with aclosing(calls.stream(METHODS[method], request, caller)) as stream:
            await anext(stream)
    else:
        await calls.unary(METHODS[method], request, caller)


@pytest.mark.parametrize("known", [False, True], ids=["never seen", "seen before"])
@pytest.mark.parametrize("method", ABOUT_A_TABLE)
async def test_a_newer_table_is_refused_and_left_alone(desk: Desk, redis_url: str, method: str, known: bool) -> None:
    """Every call about it is UNAVAILABLE for its schema: another server may know it. Nothing of it changes."""
    match = await playing(desk)
    before = desk.last_seen.get(match.game)
    assert before is not None
    await made_newer(desk, match.game)
    if known:
        desk.last_seen.put(before)
        await desk.store._link.client.hincrby(desk.store._keys.of(match.game).game, "version", 1)
    keys = desk.store._keys.of(match.game)
    kept = keep(redis_url, keys)
    assert before.match is not None
    token = match.tokens[before.match.turn]
    with pytest.raises(ApiError) as refused:
        await asked(build_calls(desk, heartbeat_s=60), method, request_to(method, match.game), token)
    assert (refused.value.reason, refused.value.code_name) == ("NEWER_SCHEMA", "UNAVAILABLE")
    assert keep(redis_url, keys) == kept


async def test_a_listing_leaves_newer_tables_out(desk: Desk) -> None:
    """Tables that this server could not serve are not listed by it; the others are, page after page."""
    tables = [await opened(desk) for _ in range(4)]
    for table in tables[:3:2]:
        await made_newer(desk, table.game)
    calls, names, token = build_calls(desk, heartbeat_s=60), [], ""
    while True:
        request = pb.ListGamesRequest(page_size=1, page_token=token)
        page = await calls.unary(METHODS["ListGames"], request, Caller(None, "the-call", "test"))
        assert isinstance(page, pb.ListGamesResponse)
        names += [game.name for game in page.games]
        token = page.next_page_token
        if not token:
            break
    assert names == [f"games/{tables[3].game}", f"games/{tables[1].game}"]


async def test_what_is_due_at_a_newer_table_is_left_to_others(desk: Desk, redis_url: str) -> None:
    """The clock does what is due at other tables, and leaves one that it does not know as it is."""
    match: Match = await playing(desk)
    store, game = desk.store, match.game
    await made_newer(desk, game)
    keys = store._keys.of(game)
    await store._link.client.zadd(keys.due, {game: 1})
    kept, failures = keep(redis_url, keys), metrics.tick_failures._value.get()
    await Clock(desk, 1.0).look()
    assert metrics.tick_failures._value.get() == failures + 1
    assert keep(redis_url, keys) == kept


def test_every_method_about_a_table_is_tried() -> None:
    """All calls that name a table are among those above."""
    assert {"GetGame", "JoinGame", "Act", "Observe", "GetReplay", "LeaveGame", "StartGame"} <= set(ABOUT_A_TABLE)
