"""Building request messages from paths, queries and bodies."""

from typing import Any
from urllib.parse import urlencode

import pytest
from google.api_core import path_template, rest_helpers
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from rummy.v1.game_service_pb2 import CreateGameRequest, ListGamesRequest

from service.api.errors import ApiError
from service.api.rest.annotations import http_rule
from service.api.rest.field_names import name_in
from service.api.rest.routes import Routes
from service.api.rest.transcode import transcode
from tests.service.api.rest.messages import METHODS, SERVICES, TEXTS, messages, service_with

ROUTES = Routes(SERVICES)
COLLECTIONS = {"GameService": "games", "RuleSetService": "ruleSets"}


def request(verb: str, path: str, query: str = "", body: str = "") -> Message:
    """The message that a request is read as."""
    route, captured = ROUTES.match(verb, path)
    return transcode(route, captured, query.encode(), body.encode())


def faults(verb: str, path: str, query: str = "", body: str = "") -> list[tuple[str, str]]:
    """What is wrong with a request: each field, and what kind of fault it is."""
    with pytest.raises(ApiError) as caught:
        request(verb, path, query, body)
    assert caught.value.reason == "INVALID_FIELD"
    return [(violation.field, violation.reason) for violation in caught.value.violations]


def googles_request(method: MethodDescriptor, message: Message) -> tuple[str, str, str, str]:
    """The verb, path, query and body that Google's client library sends for a message."""
    rule = http_rule(method)
    verb = rule.WhichOneof("pattern")
    options = {"method": verb, "uri": getattr(rule, verb), **({"body": rule.body} if rule.body else {})}
    sent = path_template.transcode([options], message=message)  # type: ignore[no-untyped-call]
    parameters = json_format.MessageToDict(sent["query_params"])
    query = rest_helpers.flatten_query_params(parameters, strict=True)  # type: ignore[no-untyped-call]
    body = json_format.MessageToJson(sent["body"]) if "body" in sent else ""
    return verb.upper(), sent["uri"], urlencode(query), body


@given(st.data())
@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
def test_what_googles_client_library_sends_is_read_back(method: MethodDescriptor, data: st.DataObject) -> None:
    """For every method and any request, path, query and body as Google's own library writes them give the request."""
    message: Any = data.draw(messages(method.input_type))
    if http_rule(method).body not in {"", "*"}:
        getattr(message, http_rule(method).body).SetInParent()  # that library has no body that is left out
    if "name" in message.DESCRIPTOR.fields_by_name:
        segment = TEXTS.filter(lambda text: text not in {"", ".", ".."} and "/" not in text)
        message.name = f"{COLLECTIONS[method.containing_service.name]}/{data.draw(segment)}"
    assert request(*googles_request(method, message)) == message


def test_a_query_may_name_fields_in_either_case() -> None:
    """`page_size` and `pageSize` are one parameter."""
    expected = ListGamesRequest(page_size=5, page_token="a b")  # noqa: S106  no password
    assert request("GET", "/v1/games", "pageSize=5&pageToken=a+b") == expected
    assert request("GET", "/v1/games", "page_size=5&page_token=a%20b") == expected


def test_a_body_may_be_one_field_of_the_request_and_the_query_the_rest() -> None:
    """CreateGame's body is the game, and its request id is a parameter."""
    expected = CreateGameRequest(request_id="x")
    expected.game.seat_count = 3
    assert request("POST", "/v1/games", "requestId=x", '{"seatCount": 3}') == expected


def test_a_body_that_is_left_out_leaves_its_field_unset() -> None:
    """Without a body there is no game in the request, which the check of required fields will say."""
    assert request("POST", "/v1/games") == CreateGameRequest()


@pytest.mark.parametrize(
    ("verb", "path", "query", "body", "expected"),
    [
        ("GET", "/v1/games", "page=1", "", [("page", "UNKNOWN_FIELD")]),
        ("GET", "/v1/games", "pageSize=1&page_size=2", "", [("pageSize", "REPEATED_FIELD")]),
        ("GET", "/v1/games", "pageSize=", "", [("pageSize", "NOT_AN_INTEGER")]),
        ("GET", "/v1/games", "pageSize=one&x=1", "", [("x", "UNKNOWN_FIELD"), ("pageSize", "NOT_AN_INTEGER")]),
        ("GET", "/v1/games", "pageToken.x=1", "", [("pageToken.x", "UNKNOWN_FIELD")]),
        ("GET", "/v1/games", "pageToken=%FF", "", [("query", "NOT_UTF8")]),
        ("GET", "/v1/games", "&".join(["pageSize=1"] * 300), "", [("query", "TOO_MANY")]),
        ("GET", "/v1/games/a", "name=games/b", "", [("name", "UNKNOWN_FIELD")]),
        ("POST", "/v1/games", "game=1", "", [("game", "UNKNOWN_FIELD")]),
        ("POST", "/v1/games", "game.seatCount=2", "", [("game.seatCount", "UNKNOWN_FIELD")]),
        ("POST", "/v1/games", "", '{"ruleSet": {"jokers": "x"}}', [("ruleSet.jokers", "NOT_AN_INTEGER")]),
        ("POST", "/v1/games", "", "[]", [("body", "NOT_AN_OBJECT")]),
        ("POST", "/v1/games/a:start", "requestId=x", "", [("requestId", "UNKNOWN_FIELD")]),
        ("POST", "/v1/games/a:start", "", '{"name": "games/b"}', [("name", "PATH_MISMATCH")]),
    ],
)
def test_what_does_not_fit_is_named(
    verb: str, path: str, query: str, body: str, expected: list[tuple[str, str]]
) -> None:
    """Unknown, repeated and misplaced fields are refused by name, wherever in the request they are."""
    assert faults(verb, path, query, body) == expected


def test_what_is_in_the_wrong_place_is_told_the_right_one() -> None:
    """A request id in the body of CreateGame goes into its query, and that of any other call into its body."""
    for name in ("requestId", "request_id"):
        with pytest.raises(ApiError, match=f"{name}: goes into the query of this call, not into its body"):
            request("POST", "/v1/games", "", f'{{"seatCount": 2, "{name}": "x"}}')
    with pytest.raises(ApiError, match=r"ruleSet\.requestId: no such field"):
        request("POST", "/v1/games", "", '{"ruleSet": {"requestId": "x"}}')
    with pytest.raises(ApiError, match="requestId: goes into the body of this call, not into its query"):
        request("POST", "/v1/games/a:start", "requestId=x")


@pytest.mark.parametrize(
    ("verb", "path", "names"),
    [
        (
            "POST",
            "/v1/games",
            {
                "game": "body",
                "game.rule_set.hand_size": "ruleSet.handSize",
                "game.display_name": "displayName",
                "request_id": "requestId",
            },
        ),
        ("POST", "/v1/games:quickJoin", {"game.rule_set.hand_size": "game.ruleSet.handSize", "game": "game"}),
        (
            "POST",
            "/v1/games/a:act",
            {"actions[0].lay_down.cards[1]": "actions[0].layDown.cards[1]", "actions[0].action": "actions[0].action"},
        ),
        ("GET", "/v1/games", {"page_size": "pageSize", "Last-Event-ID": "Last-Event-ID", "": ""}),
    ],
)
def test_a_field_has_the_name_that_callers_know_it_by(verb: str, path: str, names: dict[str, str]) -> None:
    """What a call finds wrong is named in camel case, from where the body begins, as what could not be read is."""
    name = name_in(ROUTES.match(verb, path)[0])
    assert {field: name(field) for field in names} == names


def test_a_body_may_repeat_what_the_path_says() -> None:
    """A client that sends the whole request message as the body is understood, as long as both agree."""
    message: Any = request("POST", "/v1/games/a:start", "", '{"name": "games/a"}')
    assert message.name == "games/a"


def test_a_dotted_parameter_leads_into_messages() -> None:
    """Without a body, each value of a nested message is a parameter; a message itself, or a list of them, is none."""
    route, captured = Routes([service_with("/x", "rummy.v1.CreateGameRequest")]).match("GET", "/x")
    query = b"game.ruleSet.jokers=2&game.displayName=x&game.rule_set.upCard=true&game.ruleSet.ace=2"
    message: Any = transcode(route, captured, query, b"")
    assert (message.game.rule_set.jokers, message.game.rule_set.up_card, message.game.rule_set.ace) == (2, True, 2)
    for name in (b"game", b"game.ruleSet", b"game.seats", b"game.seats.state", b"game.", b".", b""):
        with pytest.raises(ApiError, match="no such query parameter"):
            transcode(route, captured, name + b"=1", b"")


def test_a_repeated_field_takes_every_value_of_its_parameter() -> None:
    """A list of scalars is a parameter given several times."""
    route, captured = Routes([service_with("/x", "rummy.v1.Meld")]).match("GET", "/x")
    message: Any = transcode(route, captured, b"cards=7H&owners=1&cards=8H", b"")
    assert (list(message.cards), list(message.owners)) == (["7H", "8H"], [1])


def test_two_parameters_of_a_oneof_exclude_each_other() -> None:
    """A query is held to a oneof as a body is."""
    route, captured = Routes([service_with("/x", "rummy.v1.Action")]).match("GET", "/x")
    with pytest.raises(ApiError, match="exclude each other"):
        transcode(route, captured, b"take.count=1&discard.card=7H", b"")


def test_a_field_of_the_path_may_lie_in_a_message() -> None:
    """`{game.name=games/*}` sets the name within the game."""
    route, captured = Routes([service_with("/x/{game.name=games/*}", "rummy.v1.CreateGameRequest")]).match(
        "GET", "/x/games/a"
    )
    message: Any = transcode(route, captured, b"game.displayName=b", b"")
    assert (message.game.name, message.game.display_name) == ("games/a", "b")
