"""Which call is answered, and which is refused for what reason, wherever a table stands."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action

from service.api.calls import Caller
from service.api.errors import ApiError
from service.api.handlers import build_calls
from service.games.desk import Desk
from service.store.store import Options, Store
from service.store.table import Phase
from tests.patience import patient
from tests.service.games.tables import joined, opened, playing, put_down

METHODS = pb.DESCRIPTOR.services_by_name["GameService"].methods_by_name
OK = ""
DRAW = [Action(draw=Action.Draw())]
PHASES = [Phase.OPEN, Phase.PLAYING, Phase.FINISHED, Phase.ABANDONED]
ROWS: list[tuple[type[Message], dict[str, object], list[str]]] = [
    (pb.JoinGameRequest, {"display_name": "Ann"}, [OK, "GAME_NOT_OPEN", "GAME_NOT_OPEN", "GAME_NOT_OPEN"]),
    (pb.AddBotRequest, {}, [OK, "GAME_NOT_OPEN", "GAME_NOT_OPEN", "GAME_NOT_OPEN"]),
    (pb.StartGameRequest, {}, [OK, "GAME_NOT_OPEN", "GAME_NOT_OPEN", "GAME_NOT_OPEN"]),
    (pb.ActRequest, {"actions": DRAW}, ["GAME_NOT_STARTED", OK, "GAME_OVER", "GAME_OVER"]),
    (pb.ActRequest, {"actions": DRAW, "validate_only": True}, ["GAME_NOT_STARTED", OK, "GAME_OVER", "GAME_OVER"]),
    (pb.SuggestActionRequest, {}, ["GAME_NOT_STARTED", OK, "GAME_OVER", "GAME_OVER"]),
    (pb.ResumeSeatRequest, {}, ["GAME_NOT_STARTED", OK, "GAME_OVER", "GAME_OVER"]),
    (pb.LeaveGameRequest, {}, [OK, OK, "GAME_OVER", "GAME_OVER"]),
    (pb.RematchRequest, {}, ["GAME_NOT_OVER", "GAME_NOT_OVER", OK, OK]),
    (pb.GetReplayRequest, {}, ["GAME_NOT_OVER", "GAME_NOT_OVER", OK, "GAME_NOT_OVER"]),
    (pb.ListLegalActionsRequest, {}, [OK, OK, OK, OK]),
    (pb.GetGameRequest, {}, [OK, OK, OK, OK]),
    (pb.ListEventsRequest, {}, [OK, OK, OK, OK]),
]
CASES = [
    pytest.param(kind, fields, phase, reason, id=f"{kind.DESCRIPTOR.name}-{len(fields)}-{phase}")
    for kind, fields, reasons in ROWS
    for phase, reason in zip(PHASES, reasons, strict=True)
]


@pytest.fixture
async def desk(redis_url: str) -> AsyncIterator[Desk]:
    store = await Store.connect(redis_url, patient(Options(namespace=f"test-{uuid4().hex}")))
    yield Desk(store)
    await store.close()


async def table_in(desk: Desk, phase: Phase) -> tuple[str, str]:
    """A table that has come so far, and the token of a seat there: of the one to move, while it is played."""
    if phase is Phase.OPEN:
        table = await opened(desk, 3)
        return table.game, (await joined(desk, table.game, 2))[0]
    match = await playing(desk)
    _, token = await match.turn()
    if phase is Phase.FINISHED:
        await match.to_the_end()
    if phase is Phase.ABANDONED:
        await put_down(desk, await match.table(), phase=phase)  # by its last player, whose token would be none any more
    return match.game, token


async def said(desk: Desk, request: Message, token: str) -> str:
    """The reason for which a call is refused; empty, where it is answered."""
    method = METHODS[type(request).__name__.removesuffix("Request")]
    try:
        await build_calls(desk, heartbeat_s=5.0).unary(method, request, Caller(token, "the-call", "test"))
    except ApiError as error:
        return error.reason
    return OK


@pytest.mark.parametrize(("kind", "fields", "phase", "reason"), CASES)
async def test_a_state_of_the_table_has_one_reason(
    desk: Desk, kind: type[Message], fields: dict[str, object], phase: Phase, reason: str
) -> None:
    """What needs an open table is refused as GAME_NOT_OPEN, what needs a match as GAME_NOT_STARTED or GAME_OVER."""
    game, token = await table_in(desk, phase)
    assert await said(desk, kind(name=f"games/{game}", **fields), token) == reason


def test_every_call_about_a_table_is_here() -> None:
    """No call that names a table is missing; a stream is told of any table."""
    named = {name for name, method in METHODS.items() if "name" in method.input_type.fields_by_name}
    assert {kind.DESCRIPTOR.name.removesuffix("Request") for kind, _, _ in ROWS} == named - {"Observe"}
