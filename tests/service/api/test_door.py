"""Who may call at all, how often, and how much at the same time."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from msgspec.structs import replace as replace_struct
from prometheus_client import REGISTRY
from rummy.v1 import game_service_pb2 as pb
from rummy.v1 import rule_set_service_pb2 as rules_pb
from structlog.testing import capture_logs

from service.api import door as door_module
from service.api.callers import Caller
from service.api.door import CODED, KEYED, SEATED, Door, Limits
from service.api.errors import ApiError
from service.api.keys import ApiKeys
from service.games.errors import GameError, GameReason
from service.games.last_seen import LastSeen
from service.games.tokens import hash_of
from service.store.table import Seat
from tests.service.store.tables import new_table

GAMES = pb.DESCRIPTOR.services_by_name["GameService"]
METHODS = {
    **GAMES.methods_by_name,
    **rules_pb.DESCRIPTOR.services_by_name["RuleSetService"].methods_by_name,
}
ANN = Caller("rst_ann", "c", "test", address="192.0.2.1")
BOB = Caller("rst_bob", "c", "test", address="192.0.2.1")
GUEST = Caller(None, "c", "test", address="192.0.2.1")
STRANGER = Caller(None, "c", "test", address="192.0.2.2")
KEY = "0123456789abcdef"
CREATE, GET, ACT = pb.CreateGameRequest(), pb.GetGameRequest(name="games/a"), pb.ActRequest(name="games/a")
FIND = pb.FindGameRequest(code="K7M2QX")
OBSERVE = pb.ObserveRequest(name="games/a")
WAIT = pb.ListEventsRequest(name="games/a", wait=Duration(seconds=1))


def fields_of(method: MethodDescriptor) -> set[str]:
    """The names of the fields of a method's request."""
    return set(method.input_type.fields_by_name)


class Clock:
    """A clock that a test moves, in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def new_door(keys: str = "", clock: Clock | None = None, **limits: float) -> Door:
    """A door with these limits and keys, for which time stands still unless the test moves it."""
    return Door(Limits(**limits), ApiKeys.parse(keys), now=clock or Clock())  # type: ignore[arg-type]


def call(
    door: Door, request: Message, caller: Caller, outcome: Exception | None = None, *, repeated: bool = False
) -> None:
    """A whole call, with what becomes of it; `repeated`: by an act that was made before."""
    method = METHODS[type(request).__name__.removesuffix("Request")]
    door.admit(method, request, caller)
    with door.inside(method, request, caller):
        if outcome:
            raise outcome
        if isinstance(request, pb.ActRequest) and not (request.validate_only or repeated):
            door.acted(request.name)


def put_up(door: Door, caller: Caller) -> Callable[[], None]:
    """A table is put up; gives what takes it back."""
    return door.tables_of(caller)()


def limited(limit: str, wait_s: float | None = None) -> "pytest.RaisesExc[ApiError]":
    """Expects a refusal for this limit, and to be told how long it lasts."""

    def fits(error: ApiError) -> bool:
        told = (error.reason, error.metadata["limit"]) == ("LIMIT_EXCEEDED", limit)
        return told and error.retry_s is not None and (wait_s is None or error.retry_s == pytest.approx(wait_s))

    return pytest.raises(ApiError, check=fits)


def wrong() -> GameError:
    return GameError(GameReason.TOKEN_INVALID, "no")


def guess(door: Door, request: Message, caller: Caller) -> None:
    """A call whose token turns out to be wrong."""
    with pytest.raises(GameError):
        call(door, request, caller, wrong())


@pytest.mark.parametrize("request_", [GET, ACT, OBSERVE, CREATE, WAIT], ids=lambda request: type(request).__name__)
def test_without_limits_nobody_is_refused(request_: Message) -> None:
    """A door without limits and keys lets everybody in as often as he likes."""
    door = Door()
    for _ in range(500):
        call(door, request_, GUEST)


def test_the_names_are_those_of_methods() -> None:
    """Every method of a table looks at the token, but for those that give one, and the API has all that are named."""
    named = {name for name, method in METHODS.items() if method in GAMES.methods and "name" in fields_of(method)}
    assert named - {"JoinGame"} == SEATED
    assert METHODS.keys() > KEYED | CODED


def test_a_caller_makes_so_many_calls() -> None:
    """A caller has a burst of calls, then his rate; the refusal names the limit, and how long to wait."""
    clock = Clock()
    door = new_door(clock=clock, calls_per_second=2, burst_s=3)
    for _ in range(6):
        call(door, GET, GUEST)
    with limited("calls_per_second", 0.5):
        call(door, GET, GUEST)
    clock.now += 0.5
    call(door, GET, GUEST)


def test_each_seat_and_each_address_is_a_caller() -> None:
    """Seats behind one address have a rate each, spectators share their address's, and other addresses have theirs."""
    clock = Clock()
    door = new_door(clock=clock, calls_per_second=1)
    for caller in (ANN, BOB):
        call(door, GET, caller)
        clock.now += 1
    for caller in (ANN, BOB, GUEST, STRANGER):
        call(door, GET, caller)
    for caller in (ANN, BOB, GUEST, STRANGER):
        with limited("calls_per_second"):
            call(door, GET, caller)


def test_a_token_gives_no_rate_where_nobody_looks_at_it() -> None:
    """Where a token is not held to a table's, its bearer is the address: one made up for each call gains nothing."""
    door = new_door(calls_per_second=1)
    for request in (CREATE, pb.ListGamesRequest(), rules_pb.ListRuleSetsRequest()):
        caller = replace(ANN, address=type(request).__name__)
        call(door, request, caller)
        with limited("calls_per_second"):
            call(door, request, replace(caller, token="another"))  # noqa: S106  nobody's


@pytest.mark.parametrize("reason", [GameReason.GAME_NOT_FOUND, GameReason.TOKEN_INVALID])
def test_a_token_gives_no_rate_before_it_was_right(reason: GameReason) -> None:
    """Tokens made up, one for each call, share a rate, whatever becomes of the calls; a seat behind it has its own."""
    door = new_door(calls_per_second=1, burst_s=2)
    call(door, GET, ANN)
    with pytest.raises(GameError):
        call(door, GET, replace(BOB, token="rst_1"), GameError(reason, "no"))  # noqa: S106  nobody's
    for number in range(2, 9):
        with limited("calls_per_second"):
            door.admit(METHODS["GetGame"], GET, replace(BOB, token=f"rst_{number}"))
    call(door, GET, ANN)
    call(door, GET, GUEST)


def test_a_caller_creates_so_many_tables() -> None:
    """Tables are counted by the minute, apart from calls, and only those that were made."""
    door = new_door(tables_per_minute=2, calls_per_second=1)
    for _ in range(5):
        put_up(door, GUEST)()
    for _ in range(2):
        put_up(door, GUEST)
    with limited("tables_per_minute", 30):
        put_up(door, GUEST)
    put_up(door, STRANGER)
    call(door, GET, GUEST)


def test_a_table_takes_so_many_acts() -> None:
    """Accepted acts are counted by table, whoever plays them; refused and repeated ones and dry runs are not."""
    clock = Clock()
    door = new_door(clock=clock, acts_per_second=1, burst_s=2)
    for _ in range(10):
        with pytest.raises(ApiError, match="GAME_OVER"):
            call(door, ACT, STRANGER, ApiError("GAME_OVER", "no"))
        call(door, pb.ActRequest(name="games/a", validate_only=True), ANN)
        call(door, ACT, ANN, repeated=True)
    call(door, ACT, ANN)
    call(door, ACT, BOB)
    with limited("acts_per_second", 1):
        call(door, ACT, ANN)
    call(door, pb.ActRequest(name="games/a", validate_only=True), ANN)
    call(door, pb.ActRequest(name="games/b"), ANN)
    clock.now += 1
    call(door, ACT, ANN)


@pytest.mark.parametrize("request_", [OBSERVE, WAIT], ids=["a stream", "a wait for events"])
@pytest.mark.parametrize("outcome", [None, wrong(), GeneratorExit()], ids=["ended", "refused", "given up"])
def test_a_caller_has_so_many_streams(request_: Message, outcome: BaseException | None) -> None:
    """What a caller has open is bounded, and given back however it ends."""
    door = new_door(streams_per_caller=2)
    method = METHODS[type(request_).__name__.removesuffix("Request")]
    try:
        with ExitStack() as held:
            for _ in range(2):
                held.enter_context(door.inside(method, request_, ANN))
            with limited("streams_per_caller"):
                call(door, request_, ANN)
            call(door, request_, BOB)
            call(door, GET, ANN)
            call(door, pb.ListEventsRequest(name="games/a"), ANN)
            if outcome:
                raise outcome
    except (GameError, GeneratorExit):
        pass
    assert len(door._streams) == 0
    call(door, request_, ANN)


def test_a_table_has_so_many_watchers() -> None:
    """Spectators of a table are bounded together, and never take the place of a seat."""
    door = new_door(watchers_per_table=2)
    with ExitStack() as held:
        for caller in (GUEST, STRANGER):
            held.enter_context(door.inside(METHODS["Observe"], OBSERVE, caller))
        for request in (OBSERVE, WAIT):
            with limited("watchers_per_table"):
                call(door, request, replace(GUEST, address="192.0.2.3"))
        call(door, OBSERVE, ANN)
        call(door, pb.ObserveRequest(name="games/b"), GUEST)
    assert len(door._watchers) == len(door._streams) == 0


def seen(*tokens: str) -> LastSeen:
    """What is known of a table, games/a, where these tokens have seats."""
    seats = tuple(Seat(taken=True, token_hash=hash_of(token)) for token in tokens)
    last_seen = LastSeen()
    last_seen.put(replace_struct(new_table("a"), seats=(*seats, Seat())))
    return last_seen


def test_a_token_just_given_is_known() -> None:
    """Who has just joined has a rate of his own, however many wrong tokens come from his address."""
    door = new_door(calls_per_second=1)
    guess(door, GET, replace(BOB, token="rst_wrong"))  # noqa: S106  nobody's
    with limited("calls_per_second"):
        call(door, GET, BOB)
    door.issued(str(BOB.token))
    call(door, GET, BOB)


def test_a_token_is_known_by_the_table_last_seen() -> None:
    """A server that has not met a player knows him by the table; wrong tokens from his address are not in his way."""
    door = Door(Limits(calls_per_second=1), last_seen=seen("rst_ann"), now=Clock())
    guess(door, GET, BOB)
    with limited("calls_per_second"):
        call(door, GET, BOB)
    call(door, GET, ANN)


def test_wrong_tokens_at_one_table_are_not_in_the_way_to_others() -> None:
    """Tokens for a table not seen yet, as after a server's start, have another rate than those for one seen."""
    door, elsewhere = Door(Limits(calls_per_second=1), last_seen=seen(), now=Clock()), pb.GetGameRequest(name="games/b")
    guess(door, GET, BOB)
    with limited("calls_per_second"):
        call(door, GET, BOB)
    call(door, elsewhere, ANN)
    with limited("calls_per_second"):
        call(door, elsewhere, BOB)


def test_wrong_tokens_lock_out_nobody() -> None:
    """No number of wrong tokens keeps an address from a token, a key or a code: they are too long to be guessed."""
    door = new_door(f"shop:{KEY}", failures_per_minute=1)
    for number in range(9):
        guess(door, GET, replace(BOB, token=f"rst_{number}"))
    call(door, GET, ANN)
    call(door, FIND, GUEST)
    call(door, CREATE, replace(GUEST, api_key=KEY))


def test_codes_are_guessed_so_many_times() -> None:
    """After so many codes that no table has, an address finds no table by its code for a while, and does all else."""
    clock = Clock()
    door = new_door(f"shop:{KEY}", clock, failures_per_minute=2)
    for _ in range(2):
        call(door, FIND, GUEST)
        with pytest.raises(GameError):
            call(door, FIND, GUEST, GameError(GameReason.CODE_NOT_FOUND, "no"))
    with limited("failures_per_minute", 30):
        call(door, FIND, GUEST)
    call(door, FIND, STRANGER)
    call(door, GET, ANN)
    call(door, CREATE, replace(GUEST, api_key=KEY))
    clock.now += 30
    call(door, FIND, GUEST)


def test_a_refusal_for_another_reason_is_no_guess() -> None:
    """Only a wrong code counts as one."""
    door = new_door(failures_per_minute=1)
    for _ in range(5):
        with pytest.raises(GameError):
            call(door, FIND, ANN, GameError(GameReason.GAME_NOT_FOUND, "no"))


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tokens that were right only the latest are remembered."""
    monkeypatch.setattr(door_module, "MOST", 3)
    door = new_door(failures_per_minute=1)
    for number in range(50):
        call(door, GET, replace(ANN, token=str(number)))
    assert len(door._known) == 3


def refused(reason: str) -> "pytest.RaisesExc[ApiError]":
    return pytest.raises(ApiError, check=lambda error: error.reason == reason)


@pytest.fixture
def keyed() -> Door:
    """A door with keys."""
    return new_door(f"shop:{KEY}", failures_per_minute=2)


def test_tables_are_created_with_a_key(keyed: Door) -> None:
    """Where there are keys a table is created with one of them, and all else without."""
    assert keyed.keyed == KEYED
    assert Door().keyed == frozenset()
    with refused("API_KEY_REQUIRED"):
        call(keyed, CREATE, GUEST)
    with refused("API_KEY_INVALID"):
        call(keyed, CREATE, replace(GUEST, api_key=KEY[:-1]))
    call(keyed, CREATE, replace(GUEST, api_key=KEY))
    call(keyed, GET, GUEST)


def test_a_wrong_key_is_never_taken_for_none(keyed: Door) -> None:
    """A key that is none of the server's is refused where none is needed, too; without keys, whatever is sent is."""
    for key in ("", "another"):
        with refused("API_KEY_INVALID"):
            call(keyed, GET, replace(GUEST, api_key=key))
    call(Door(), CREATE, replace(GUEST, api_key="another"))


def test_guesses_at_keys_are_refused_unseen(keyed: Door) -> None:
    """After so many wrong keys from an address only one that is known is looked at, whatever token comes with it."""
    call(keyed, GET, ANN)
    for key in ("one", "two"):
        with refused("API_KEY_INVALID"):
            call(keyed, GET, replace(ANN, api_key=key))
    for key in ("three", KEY):
        with limited("failures_per_minute"):
            call(keyed, GET, replace(ANN, api_key=key))
    call(keyed, FIND, GUEST)
    call(keyed, CREATE, replace(STRANGER, api_key=KEY))
    call(keyed, CREATE, replace(GUEST, api_key=KEY))
    call(keyed, GET, ANN)


def test_the_holder_of_a_key_is_a_caller() -> None:
    """Whatever his addresses and keys, he has one rate, by the key's name."""
    door = new_door(f"shop:{KEY},shop:{KEY[::-1]},app:{'x' * 16}", tables_per_minute=1)
    put_up(door, replace(GUEST, api_key=KEY))
    with limited("tables_per_minute"):
        put_up(door, replace(STRANGER, api_key=KEY[::-1]))
    put_up(door, replace(GUEST, api_key="x" * 16))


def test_a_refusal_is_counted() -> None:
    """The metrics count refusals by the name of the limit."""

    def counted() -> float:
        return REGISTRY.get_sample_value("rummyd_limited_total", {"limit": "calls_per_second"}) or 0.0

    door, before = new_door(calls_per_second=1), counted()
    call(door, GET, GUEST)
    for _ in range(2):
        with limited("calls_per_second"):
            call(door, GET, GUEST)
    assert counted() - before == 2


def test_a_proxy_that_should_be_trusted_is_told_of_once() -> None:
    """When a limit is met behind a proxy whose word does not count, the log says which setting makes it count."""
    door = new_door(calls_per_second=1)
    with capture_logs() as lines:
        call(door, GET, GUEST)
        for caller in (GUEST, replace(GUEST, unseen_proxy=True), replace(GUEST, unseen_proxy=True)):
            with limited("calls_per_second"):
                call(door, GET, caller)
    assert [line["event"] for line in lines] == ["proxy_not_trusted"]
    assert "trusted_proxies" in lines[0]["why"]


def test_every_limit_can_be_told() -> None:
    """A refusal tells the limit by the name that it has, and how much it allows."""
    spending: dict[str, Callable[[Door], object]] = {
        "calls_per_second": lambda door: call(door, pb.ListGamesRequest(), ANN),
        "tables_per_minute": lambda door: put_up(door, ANN),
        "acts_per_second": lambda door: call(door, ACT, ANN),
        "failures_per_minute": lambda door: call(door, FIND, ANN, GameError(GameReason.CODE_NOT_FOUND, "no")),
    }
    for limit, spend in spending.items():
        door = Door(Limits(**{limit: 1}), now=Clock())
        with suppress(GameError):
            spend(door)
        with pytest.raises(ApiError) as refusal:
            spend(door)
        assert refusal.value.metadata == {"limit": limit, "most": "1"}
        assert refusal.value.text.startswith(limit.replace("_", " "))
