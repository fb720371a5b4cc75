"""The methods of the API as both fronts call them: a request message in, an answer or an error out."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from prometheus_client import REGISTRY
from rummy.v1 import action_pb2, game_service_pb2
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet
from structlog.testing import capture_logs

from service.api.calls import Caller, Calls
from service.api.errors import ApiError
from service.api.handlers import build_calls
from service.games.act import LegalActions
from service.games.desk import Desk
from service.games.read import OpenTables
from service.store.store import Options, Store
from tests.patience import patient
from tests.service.store.feeds import held

METHODS = game_service_pb2.DESCRIPTOR.services_by_name["GameService"].methods_by_name
DRAW = action_pb2.Action(draw=action_pb2.Action.Draw())


@dataclass
class Api:
    """Calls the methods as a front does."""

    desk: Desk
    heartbeat_s: float = 5.0

    def __post_init__(self) -> None:
        self.calls: Calls = build_calls(self.desk, heartbeat_s=self.heartbeat_s)

    async def ask(self, request: Message, token: str | None = None) -> Message:
        """The answer of the unary method whose request this is."""
        method = METHODS[type(request).__name__.removesuffix("Request")]
        return await self.calls.unary(method, request, Caller(token, "the-call", "test"))

    async def game(self, request: Message, token: str | None = None) -> Game:
        """The same where a table is the answer."""
        answer = await self.ask(request, token)
        assert isinstance(answer, Game)
        return answer

    async def join(self, name: str, **fields: object) -> pb.JoinGameResponse:
        """Somebody takes a seat."""
        answer = await self.ask(pb.JoinGameRequest(name=name, display_name="Ann", **fields))  # type: ignore[arg-type]
        assert isinstance(answer, pb.JoinGameResponse)
        return answer

    async def act(self, name: str, token: str | None, *actions: action_pb2.Action, **fields: object) -> pb.ActResponse:
        """A seat plays."""
        answer = await self.ask(pb.ActRequest(name=name, actions=actions, **fields), token)  # type: ignore[arg-type]
        assert isinstance(answer, pb.ActResponse)
        return answer

    async def listed(self, name: str, token: str | None, **fields: object) -> pb.ListLegalActionsResponse:
        """A seat asks what it may do."""
        request = pb.ListLegalActionsRequest(name=name, **fields)  # type: ignore[arg-type]
        answer = await self.ask(request, token)
        assert isinstance(answer, pb.ListLegalActionsResponse)
        return answer

    async def playing(self, rule_set: RuleSet | None = None) -> tuple[str, list[str]]:
        """A table of two that has begun: its name, and its tokens by seat."""
        game = await self.game(pb.CreateGameRequest(game=Game(seat_count=2, rule_set=rule_set)))
        return game.name, [(await self.join(game.name)).token for _ in range(2)]


@pytest.fixture
async def api(redis_url: str) -> AsyncIterator[Api]:
    store = await Store.connect(redis_url, patient(Options(namespace=f"test-{uuid4().hex}")))
    yield Api(Desk(store))
    await store.close()


def uuid() -> str:
    return str(uuid4())


async def test_a_table_is_created_as_it_was_asked_for(api: Api) -> None:
    """The answer has the table whole: its name, its rules with what differs from the preset, and its free seats."""
    rule_set = RuleSet(preset="rummy500", jokers=2)
    game = await api.game(pb.CreateGameRequest(game=Game(display_name="Kitchen", seat_count=3, rule_set=rule_set)))
    assert re.fullmatch("games/[a-z0-9]{20}", game.name)
    assert (game.display_name, game.seat_count, game.version, len(game.seats)) == ("Kitchen", 3, 1, 3)
    assert (game.rule_set.preset, game.rule_set.jokers, game.rule_set.hand_size) == ("rummy500", 2, 7)
    assert len(game.commitment) == 64
    assert await api.game(pb.GetGameRequest(name=game.name)) == game


async def test_a_table_without_rules_plays_basic_rummy(api: Api) -> None:
    """Who says nothing of the rules plays the basic game."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=2)))
    assert game.rule_set.preset == "basic"


async def test_what_only_the_server_says_is_not_taken_from_a_request(api: Api) -> None:
    """A request cannot choose a table's name, version or state: what an answer has there is ignored."""
    wanted = Game(seat_count=2, name="games/mine", version=9, state=Game.STATE_PLAYING, epoch="x", commitment="y")
    game = await api.game(pb.CreateGameRequest(game=wanted))
    assert game.name != "games/mine"
    assert (game.version, game.state) == (1, Game.STATE_OPEN)


async def test_a_lobby_lists_what_is_played(api: Api) -> None:
    """Of a filtered list each table says what game it is, and by what house rules, before and after it is full."""
    wanted = Game(seat_count=3, rule_set=RuleSet(preset="rummy500", jokers=2, ace=RuleSet.ACE_LOW))
    table = await api.game(pb.CreateGameRequest(game=wanted))
    for other in (Game(seat_count=3), Game(seat_count=2, rule_set=RuleSet(preset="rummy500"))):
        await api.game(pb.CreateGameRequest(game=other))
    page = await api.ask(pb.ListGamesRequest(preset="rummy500", seat_count=3))
    assert isinstance(page, pb.ListGamesResponse)
    assert [game.name for game in page.games] == [table.name]
    tokens = [(await api.join(table.name)).token for _ in range(2)]
    await api.ask(pb.StartGameRequest(name=table.name), tokens[0])
    begun = await api.game(pb.GetGameRequest(name=table.name))
    for game in (table, page.games[0], begun):
        assert (game.rule_set.display_name, list(game.rule_set.house_rules)) == ("Rummy 500", ["jokers", "ace"])


async def test_an_answer_may_be_sent_back_as_a_request(api: Api) -> None:
    """The rules of one table are, as they stand in the answer, a request for another with the same rules."""
    for preset in ("basic", "rummy500", "pool500-cutthroat"):
        first = await api.game(pb.CreateGameRequest(game=Game(seat_count=4, rule_set=RuleSet(preset=preset, deals=3))))
        second = await api.game(pb.CreateGameRequest(game=first))
        assert second.rule_set == first.rule_set


async def test_every_fault_of_a_rule_set_is_named_by_its_path(api: Api) -> None:
    """What keeps a table from being played is told all at once, each fault at a field that the request has."""
    rule_set = RuleSet(preset="basic", set_max=2, deals=0, idle_limit=0, jokers=99, ace=RuleSet.Ace.ValueType(9))
    with pytest.raises(ApiError) as refusal:
        await api.ask(pb.CreateGameRequest(game=Game(seat_count=9, rule_set=rule_set)))
    assert refusal.value.reason == "INVALID_RULE_SET"
    assert {violation.field: violation.reason for violation in refusal.value.violations} == {
        "game.seat_count": "OUT_OF_RANGE",
        "game.rule_set.set_max": "CONFLICT",
        "game.rule_set.deals": "NO_END",
        "game.rule_set.idle_limit": "NO_END",
        "game.rule_set.jokers": "OUT_OF_RANGE",
        "game.rule_set.ace": "WRONG_TYPE",
    }


@pytest.mark.parametrize(("rule_set", "field"), [(RuleSet(preset="gin"), "preset"), (RuleSet(jokers=0), "seats")])
async def test_a_rule_set_that_is_none_is_refused(api: Api, rule_set: RuleSet, field: str) -> None:
    """An unknown preset, or none and not every field, is told by the field's path."""
    with pytest.raises(ApiError) as refusal:
        await api.ask(pb.CreateGameRequest(game=Game(seat_count=2, rule_set=rule_set)))
    assert refusal.value.reason == "INVALID_RULE_SET"
    assert f"game.rule_set.{field}" in {violation.field for violation in refusal.value.violations}


async def test_open_tables_are_listed_in_pages(api: Api) -> None:
    """Pages hold as many tables as were asked for, and each but the last names the next; none has a view."""
    names = {(await api.game(pb.CreateGameRequest(game=Game(seat_count=2)))).name for _ in range(5)}
    await api.playing()
    found: list[str] = []
    token = ""
    while not found or token:
        page = await api.ask(pb.ListGamesRequest(page_size=2, page_token=token))
        assert isinstance(page, pb.ListGamesResponse)
        assert not any(game.HasField("view") for game in page.games)
        found += [game.name for game in page.games]
        token = page.next_page_token
    assert (len(found), set(found)) == (5, names)


@pytest.mark.parametrize(("asked", "tables", "actions"), [(0, 20, 200), (7, 7, 7), (2_000_000_000, 100, 1000)])
async def test_a_page_has_its_bounds(
    api: Api, monkeypatch: pytest.MonkeyPatch, asked: int, tables: int, actions: int
) -> None:
    """Without a size a page is of a handy one, and with too great a size of the greatest that there is."""
    sizes: list[int] = []

    async def listed(desk: Desk, *, size: int, cursor: str, preset: str, seat_count: int) -> OpenTables:
        sizes.append(size)
        return OpenTables((), "")

    async def legal(
        desk: Desk, game: str, token: str, *, start: int, size: int, at_version: int | None
    ) -> LegalActions:
        sizes.append(size)
        return LegalActions(1, (), more=False)

    monkeypatch.setattr("service.api.handlers.read.list_open", listed)
    monkeypatch.setattr("service.api.handlers.list_legal", legal)
    await api.ask(pb.ListGamesRequest(page_size=asked))
    await api.listed("games/any", None, page_size=asked)
    assert sizes == [tables, actions]


async def test_a_seat_is_given_with_its_token(api: Api) -> None:
    """The answer to a join has the seat, its token, and the table as the seat sees it."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=3)))
    joined = await api.join(game.name, seat=2)
    assert (joined.seat, joined.game.version, joined.game.seats[2].display_name) == (2, 2, "Ann")
    assert (await api.join(game.name)).seat == 0


async def test_seat_0_may_be_named(api: Api) -> None:
    """To name seat 0 is not to name none: where it is taken the join is refused, though others are free."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=3)))
    assert (await api.join(game.name, seat=0)).seat == 0
    with pytest.raises(ApiError, match="SEAT_TAKEN"):
        await api.join(game.name, seat=0)


async def test_a_token_opens_its_seats_view(api: Api) -> None:
    """With its token a seat sees its own hand, and without one nobody sees any."""
    name, tokens = await api.playing()
    for seat, token in enumerate(tokens):
        view = (await api.game(pb.GetGameRequest(name=name), token)).view
        assert (view.seat, len(view.hand)) == (seat, 10)
    view = (await api.game(pb.GetGameRequest(name=name))).view
    assert (view.HasField("seat"), len(view.hand), view.HasField("options")) == (False, 0, False)


async def test_who_leaves_is_answered_as_a_spectator(api: Api) -> None:
    """The answer to leaving shows the table as somebody sees it who has no seat there any more."""
    name, tokens = await api.playing()
    game = await api.game(pb.LeaveGameRequest(name=name), tokens[1])
    assert game.seats[1].state == Game.Seat.STATE_LEFT
    assert (game.view.HasField("seat"), len(game.view.hand)) == (False, 0)


async def test_who_starts_is_answered_as_his_seat(api: Api) -> None:
    """The answer to a start has the hand of the one who started."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=4)))
    await api.join(game.name)
    joined = await api.join(game.name, seat=3)
    started = await api.game(pb.StartGameRequest(name=game.name), joined.token)
    assert (started.state, started.seat_count, started.view.seat, len(started.view.hand)) == (2, 2, 1, 10)


async def test_a_seat_plays_its_turn(api: Api) -> None:
    """The answer to an act has the version, what happened as the seat sees it, and its view."""
    name, tokens = await api.playing()
    acted = await api.act(name, tokens[0], DRAW, expected_version=3)
    assert (acted.version, acted.view.version, len(acted.view.hand)) == (4, 4, 11)
    (event,) = acted.events
    assert len(event.drew.cards) == 1
    card = acted.view.options.discard[0]
    acted = await api.act(name, tokens[0], action_pb2.Action(discard=action_pb2.Action.Discard(card=card)))
    assert (acted.view.turn, acted.view.HasField("options")) == (1, False)


async def test_trying_out_is_told_what_would_happen(api: Api) -> None:
    """With `validate_only` nothing is played, and the card to be drawn is not told."""
    name, tokens = await api.playing()
    acted = await api.act(name, tokens[0], DRAW, validate_only=True, request_id=uuid())
    assert (acted.version, acted.events[0].drew.count, list(acted.events[0].drew.cards)) == (3, 1, [])
    assert (await api.game(pb.GetGameRequest(name=name))).version == 3


async def test_a_draw_that_is_not_the_last_action_is_named(api: Api) -> None:
    """An action after a draw is a fault of the request, at the action's path."""
    name, tokens = await api.playing()
    with pytest.raises(ApiError) as refusal:
        await api.act(name, tokens[0], DRAW, DRAW)
    assert refusal.value.reason == "ACTION_AFTER_DRAW"
    assert [violation.field for violation in refusal.value.violations] == ["actions[0]"]


async def test_a_refusal_says_which_rule_and_action(api: Api) -> None:
    """What the rules forbid comes with the clause and the place of the action in the request."""
    name, tokens = await api.playing()
    with pytest.raises(ApiError) as refusal:
        await api.act(name, tokens[1], DRAW)
    assert (refusal.value.reason, refusal.value.metadata) == ("NOT_YOUR_TURN", {"clause": "B2", "action": "0"})


async def test_legal_actions_come_in_pages_of_one_version(api: Api) -> None:
    """Page after page the whole list comes, each action as it may be sent; a page of an older version is refused."""
    name, tokens = await api.playing()
    await api.act(name, tokens[0], DRAW)
    whole = list((await api.listed(name, tokens[0])).actions)
    assert len(whole) >= 11
    first = page = await api.listed(name, tokens[0], page_size=3)
    found = list(page.actions)
    while page.next_page_token:
        page = await api.listed(name, tokens[0], page_size=3, page_token=page.next_page_token)
        assert page.version == 4
        found += page.actions
    assert found == whole
    await api.act(name, tokens[0], next(action for action in whole if action.HasField("discard")))
    with pytest.raises(ApiError, match="VERSION_MISMATCH"):
        await api.listed(name, tokens[0], page_token=first.next_page_token)
    assert list((await api.listed(name, tokens[0])).actions) == []


@pytest.mark.parametrize("token", ["x", "4", "4-", "-3", "04-3", "4-0", "4-3 ", "4-3-1", "٤-٣", "9999999999-1"])
async def test_a_page_token_that_was_not_given_is_refused(api: Api, token: str) -> None:
    """What no answer has given as a page token is told to be none, at the field."""
    name, tokens = await api.playing()
    with pytest.raises(ApiError) as refusal:
        await api.listed(name, tokens[0], page_token=token)
    assert refusal.value.reason == "INVALID_PAGE_TOKEN"
    assert [violation.field for violation in refusal.value.violations] == ["page_token"]
    with pytest.raises(ApiError, match="INVALID_PAGE_TOKEN"):
        await api.ask(pb.ListGamesRequest(page_token=token))


async def test_a_stream_has_a_snapshot_batches_and_heartbeats(api: Api) -> None:
    """A watcher is given the table, what happens, and signs of life, each as a message of its own."""
    quick = Api(api.desk, heartbeat_s=0.02)
    name, tokens = await api.playing()
    observed = pb.ObserveRequest(name=name)
    async with aclosing(quick.calls.stream(METHODS["Observe"], observed, Caller(tokens[1], "c", "test"))) as stream:
        messages = [await anext(stream), await anext(stream)]
        await api.act(name, tokens[0], DRAW)
        while messages[-1].WhichOneof("message") != "batch":
            messages.append(await anext(stream))
    kinds = [message.WhichOneof("message") for message in messages]
    assert (kinds[0], kinds[1], kinds[-1]) == ("snapshot", "heartbeat", "batch")
    first, beat, batch = messages[0], messages[1], messages[-1]
    assert isinstance(first, pb.ObserveResponse)
    assert isinstance(beat, pb.ObserveResponse)
    assert isinstance(batch, pb.ObserveResponse)
    assert (first.snapshot.view.seat, first.snapshot.version, beat.heartbeat.version) == (1, 3, 3)
    assert (batch.batch.version, list(batch.batch.events[0].drew.cards)) == (4, [])


async def test_a_stream_given_up_leaves_nothing_behind(api: Api) -> None:
    """When the caller's stream is closed the watch below it has ended, not some time later."""
    name, tokens = await api.playing()
    stream = api.calls.stream(METHODS["Observe"], pb.ObserveRequest(name=name, after=2), Caller(tokens[0], "c", "test"))
    await anext(stream)
    assert held(api.desk.store.feed).watches == 1
    await stream.aclose()
    assert held(api.desk.store.feed).watches == 0


async def test_a_stream_goes_on_after_a_version(api: Api) -> None:
    """Who names the last version seen is given what came after it, of the epoch and after the mark that he names."""
    name, tokens = await api.playing()
    await api.act(name, tokens[0], DRAW)
    epoch = (await api.game(pb.GetGameRequest(name=name))).epoch
    marks = []
    begun = pb.ObserveRequest(name=name, after=2)
    async with aclosing(api.calls.stream(METHODS["Observe"], begun, Caller(None, "c", "test"))) as stream:
        for _ in range(2):
            message = await anext(stream)
            assert isinstance(message, pb.ObserveResponse)
            marks.append(message.mark)
    assert len(set(marks)) == 2
    for given, mark, kind in (
        (epoch, marks[0], "batch"),
        ("", "", "batch"),
        ("another", marks[0], "snapshot"),
        (epoch, marks[1], "snapshot"),
    ):
        observed = pb.ObserveRequest(name=name, after=3, epoch=given, mark=mark)
        async with aclosing(api.calls.stream(METHODS["Observe"], observed, Caller(None, "c", "test"))) as stream:
            message = await anext(stream)
        assert isinstance(message, pb.ObserveResponse)
        assert message.WhichOneof("message") == kind


async def test_a_turn_limit_is_chosen_with_the_table(api: Api) -> None:
    """A table with a turn limit tells it, and once it is played at, the deadline and what is left of each bank."""
    wanted = Game(seat_count=2)
    wanted.turn_limit.turn.FromMilliseconds(30_500)
    wanted.turn_limit.bank.FromSeconds(60)
    game = await api.game(pb.CreateGameRequest(game=wanted))
    assert (game.turn_limit.turn.ToMilliseconds(), game.turn_limit.misses) == (30_500, 2)
    joined = [await api.join(game.name) for _ in range(2)][1]
    assert [seat.bank.seconds for seat in joined.game.seats] == [60, 60]
    limit = joined.game.view.deadline.ToMilliseconds() - joined.game.update_time.ToMilliseconds()
    assert limit == 90_500


@pytest.mark.parametrize(
    ("turn_ms", "bank_ms", "misses", "field"),
    [
        (999, 0, 0, "game.turn_limit.turn"),
        (86_400_001, 0, 0, "game.turn_limit.turn"),
        (1000, -1, 0, "game.turn_limit.bank"),
        (1000, 86_400_001, 0, "game.turn_limit.bank"),
        (1000, 0, -1, "game.turn_limit.misses"),
        (1000, 0, 101, "game.turn_limit.misses"),
    ],
)
async def test_a_turn_limit_out_of_bounds_is_refused(
    api: Api, turn_ms: int, bank_ms: int, misses: int, field: str
) -> None:
    """A turn lasts from a second to a day, a bank at most a day, and a hundred turns may be missed at most."""
    wanted = Game(seat_count=2)
    wanted.turn_limit.turn.FromMilliseconds(turn_ms)
    wanted.turn_limit.bank.FromMilliseconds(bank_ms)
    wanted.turn_limit.misses = misses
    with pytest.raises(ApiError) as refusal:
        await api.ask(pb.CreateGameRequest(game=wanted))
    assert [bad.field for bad in refusal.value.violations] == [field]


async def test_a_player_fills_the_table_with_bots(api: Api) -> None:
    """A player puts bots on the free seats, under a name or as `Bot`, and the last one begins the match."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=3)))
    token = (await api.join(game.name)).token
    game = await api.game(pb.AddBotRequest(name=game.name, seat=2, display_name="Hal"), token)
    assert [(seat.bot, seat.display_name) for seat in game.seats][1:] == [(False, ""), (True, "Hal")]
    game = await api.game(pb.AddBotRequest(name=game.name), token)
    assert [(seat.bot, seat.display_name) for seat in game.seats][1:] == [(True, "Bot"), (True, "Hal")]
    assert (game.state, game.view.seat) == (Game.STATE_PLAYING, 0)
    assert (await api.game(pb.ResumeSeatRequest(name=game.name), token)).version == game.version


async def test_a_private_table_is_found_by_the_code_in_its_answer(api: Api) -> None:
    """A private table is answered with its code, which leads to it; the log names the table, and not the code."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=2, visibility=Game.VISIBILITY_PRIVATE)))
    with capture_logs() as logs:
        found = await api.game(pb.FindGameRequest(code=f" {game.join_code[:3]}-{game.join_code[3:].lower()}"))
    assert found == game
    assert [line["game"] for line in logs] == [game.name]
    assert game.join_code not in repr(logs).upper()
    listed = await api.ask(pb.ListGamesRequest())
    assert isinstance(listed, pb.ListGamesResponse)
    assert not listed.games


@pytest.mark.parametrize("code", ["", "K7M2Q", "K7M2QXY", "K7M2Q0", "K7M2QU", "K7M_2QX", "K7M2QX" + " " * 40])
async def test_what_is_no_code_is_refused(api: Api, code: str) -> None:
    """Text that cannot be a code is told to be none, at the field, and is not looked for."""
    with pytest.raises(ApiError) as refusal:
        await api.ask(pb.FindGameRequest(code=code))
    assert refusal.value.reason == "INVALID_FIELD"
    assert {bad.field for bad in refusal.value.violations} == {"code"}


async def test_spectators_are_refused_what_is_the_seats(api: Api) -> None:
    """Where spectators are kept away a stream and a replay without a token are denied, and a table has no view."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=2, spectators=Game.SPECTATORS_NOT_ALLOWED)))
    tokens = [(await api.join(game.name)).token for _ in range(2)]
    assert not (await api.game(pb.GetGameRequest(name=game.name))).HasField("view")
    assert (await api.game(pb.GetGameRequest(name=game.name), tokens[1])).view.seat == 1
    with pytest.raises(ApiError) as refusal:
        await api.ask(pb.GetReplayRequest(name=game.name))
    assert (refusal.value.code_name, refusal.value.http_status) == ("PERMISSION_DENIED", 403)
    with pytest.raises(ApiError, match="SPECTATORS_NOT_ALLOWED"):
        async with aclosing(
            api.calls.stream(METHODS["Observe"], pb.ObserveRequest(name=game.name), Caller(None, "c", "test"))
        ) as stream:
            await anext(stream)


async def test_a_quick_join_gives_a_seat(api: Api) -> None:
    """Who asks for a table like this has a seat at one, as if he had joined it; the log says at which."""
    rule_set = RuleSet(preset="rummy500", deals=1)
    request = pb.QuickJoinRequest(game=Game(seat_count=2, rule_set=rule_set), display_name="Ann")
    with capture_logs() as logs:
        answers = [await api.ask(request) for _ in range(2)]
    first, second = (answer for answer in answers if isinstance(answer, pb.JoinGameResponse))
    assert (first.seat, second.seat, second.game.name) == (0, 1, first.game.name)
    assert (first.game.rule_set.preset, second.game.state) == ("rummy500", Game.STATE_PLAYING)
    assert (await api.game(pb.GetGameRequest(name=first.game.name), second.token)).view.seat == 1
    assert [(line["game"], line["seat"]) for line in logs] == [(first.game.name, 0), (first.game.name, 1)]


async def test_nobody_is_led_to_a_private_table(api: Api) -> None:
    """A quick join at a private table makes no sense, and faulty rules none either: each is told at its field."""
    for game, reason, field in (
        (Game(seat_count=2, visibility=Game.VISIBILITY_PRIVATE), "INVALID_FIELD", "game.visibility"),
        (Game(seat_count=2, rule_set=RuleSet(preset="basic", deals=0)), "INVALID_RULE_SET", "game.rule_set.deals"),
        (Game(seat_count=2, rule_set=RuleSet(preset="basic", jokers=9)), "INVALID_RULE_SET", "game.rule_set.jokers"),
    ):
        with pytest.raises(ApiError) as refusal:
            await api.ask(pb.QuickJoinRequest(game=game, display_name="Ann"))
        assert refusal.value.reason == reason
        assert field in {bad.field for bad in refusal.value.violations}


async def test_a_rematch_gives_a_seat_at_the_next_table(api: Api) -> None:
    """After a match its seats play again: the answer is that of a join, and the old table names the new one to them."""
    name, tokens = await api.playing(RuleSet(preset="basic", round_limit=1))
    with pytest.raises(ApiError, match="GAME_NOT_OVER"):
        await api.ask(pb.RematchRequest(name=name), tokens[0])
    for token in tokens:
        drawn = await api.act(name, token, DRAW)
        await api.act(name, token, action_pb2.Action(discard=action_pb2.Action.Discard(card=drawn.view.hand[0])))
    assert (await api.game(pb.GetGameRequest(name=name), tokens[0])).rematch == ""
    with capture_logs() as logs:
        answer = await api.ask(pb.RematchRequest(name=name, entropy="dice"), tokens[1])
    assert isinstance(answer, pb.JoinGameResponse)
    new = answer.game
    assert (answer.seat, new.seats[1].entropy, new.visibility) == (1, "dice", Game.VISIBILITY_PRIVATE)
    assert new.join_code
    assert [(line["game"], line["seat"]) for line in logs] == [(new.name, 1)]
    assert (await api.game(pb.GetGameRequest(name=name), tokens[0])).rematch == new.name
    assert (await api.game(pb.GetGameRequest(name=name))).rematch == "", "strangers are not told"


async def test_a_call_is_logged_with_game_seat_and_version(api: Api) -> None:
    """The one line of each call says which game, seat and version it was about, refused or not, and no secret."""
    name, tokens = await api.playing()
    with capture_logs() as logs:
        await api.act(name, tokens[0], DRAW)
        with pytest.raises(ApiError):
            await api.act(name, tokens[1], DRAW)
        await api.listed(name, tokens[0])
    told = [(line["game"], line["seat"], line["version"], line.get("reason")) for line in logs]
    assert told == [(name, 0, 4, None), (name, 1, 4, "NOT_YOUR_TURN"), (name, 0, 4, None)]
    assert not any(token in repr(logs) for token in tokens)


async def test_whoever_asks_about_a_table_is_logged(api: Api) -> None:
    """The line of every call about a table has its version, and the seat whose token it shows, refused or not."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=3, visibility=Game.VISIBILITY_PRIVATE)))
    name, token = game.name, (await api.join(game.name)).token
    asked = [
        (pb.GetGameRequest(name=name), token, 0),
        (pb.GetGameRequest(name=name), None, None),
        (pb.FindGameRequest(code=game.join_code), None, None),
        (pb.ListEventsRequest(name=name), token, 0),
        (pb.ListEventsRequest(name=name, after=1), None, None),
        (pb.ListLegalActionsRequest(name=name), token, 0),
        (pb.SuggestActionRequest(name=name), token, 0),
        (pb.ActRequest(name=name, actions=[DRAW]), token, 0),
        (pb.ActRequest(name=name, actions=[DRAW], validate_only=True), token, 0),
        (pb.ResumeSeatRequest(name=name), token, 0),
        (pb.StartGameRequest(name=name), token, 0),
        (pb.GetReplayRequest(name=name), token, 0),
        (pb.RematchRequest(name=name), token, 0),
        (pb.AddBotRequest(name=name, seat=0), token, 0),
    ]
    for request, shown, seat in asked:
        with capture_logs() as logs, suppress(ApiError):
            await api.ask(request, shown)
        told = [(line["game"], line["version"], line.get("seat")) for line in logs]
        assert told == [(name, 2, seat)], request
    watching = api.calls.stream(METHODS["Observe"], pb.ObserveRequest(name=name), Caller(token, "the-call", "test"))
    with capture_logs() as logs:
        async with aclosing(watching) as stream:
            await anext(stream)
            other = (await api.join(name)).token
            await api.ask(pb.LeaveGameRequest(name=name), other)
            await anext(stream)
    told = [(line["method"].rpartition(".")[2], line["version"], line["seat"]) for line in logs]
    assert told == [("JoinGame", 3, 1), ("LeaveGame", 4, 1), ("Observe", 3, 0)]


async def test_a_poller_is_no_slow_call(api: Api) -> None:
    """What a call waits for news is left out of the time that it takes to answer."""
    name = (await api.game(pb.CreateGameRequest(game=Game(seat_count=2)))).name
    labels = {"method": METHODS["ListEvents"].full_name, "front": "test"}

    def took() -> float:
        return REGISTRY.get_sample_value("rummyd_call_duration_seconds_sum", labels) or 0.0

    before = took()
    request = pb.ListEventsRequest(name=name, after=1)
    request.wait.FromMilliseconds(500)
    with capture_logs() as logs:
        await api.ask(request)
    (line,) = logs
    assert line["waited_ms"] >= 490
    assert took() - before == pytest.approx((line["duration_ms"] - line["waited_ms"]) / 1000, abs=0.001)


@pytest.mark.parametrize(
    "request_",
    [
        pb.GetGameRequest(name="games/nowhere"),
        pb.JoinGameRequest(name="games/nowhere", display_name="Ann"),
        pb.AddBotRequest(name="games/nowhere"),
        pb.ResumeSeatRequest(name="games/nowhere"),
        pb.RematchRequest(name="games/nowhere"),
        pb.LeaveGameRequest(name="games/nowhere"),
        pb.StartGameRequest(name="games/nowhere"),
        pb.ActRequest(name="games/nowhere", actions=[DRAW]),
        pb.ListLegalActionsRequest(name="games/nowhere"),
        pb.SuggestActionRequest(name="games/nowhere"),
    ],
    ids=lambda request: type(request).__name__,
)
async def test_a_table_that_is_not_there_is_not_found(api: Api, request_: Message) -> None:
    """Every method that names a table says so where there is none."""
    with pytest.raises(ApiError) as refusal:
        await api.ask(request_)
    assert (refusal.value.reason, refusal.value.code_name) == ("GAME_NOT_FOUND", "NOT_FOUND")


async def test_calls_at_one_table_do_not_disturb_each_other(api: Api) -> None:
    """Of many who take a seat at the same time each gets one of his own, and the rest are told that it has begun."""
    game = await api.game(pb.CreateGameRequest(game=Game(seat_count=4)))
    answers = await asyncio.gather(*(api.join(game.name) for _ in range(6)), return_exceptions=True)
    seats = sorted(answer.seat for answer in answers if isinstance(answer, pb.JoinGameResponse))
    assert seats == [0, 1, 2, 3]
    refusals = [answer.reason for answer in answers if isinstance(answer, ApiError)]
    assert refusals == ["GAME_NOT_OPEN"] * 2
