"""The description of the API: it is OpenAPI, it is the protos', and what it says is what happens."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import openapi_spec_validator
import pytest
import schemathesis
from buf.validate.validate_pb2 import FieldRules
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rummy.v1.action_pb2 import Action
from rummy.v1.error_reason_pb2 import ErrorReason
from rummy.v1.event_pb2 import Event
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import ActResponse, JoinGameResponse, ObserveResponse, SuggestActionResponse
from rummy.v1.view_pb2 import View
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from engine.presets import PRESETS
from service.api.convert.rules import rule_set_to
from service.api.errors import CODES, ApiError
from service.api.rest.answers import error_body
from service.api.rest.openapi import document
from service.api.rest.operations import Operations
from service.api.rest.routes import routes_of
from service.api.rest.schemas import Form, Schemas
from tests.service.api.fronts import new_app
from tests.service.api.rest.conftest import Backend
from tests.service.api.rest.messages import METHODS, SERVICES, messages, service_with

DOCUMENT: dict[str, Any] = json.loads(document(SERVICES))
OPERATIONS = {
    operation["operationId"]: (verb, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


def schema_of(reference: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """A validator of a schema that refers to the document's components."""
    return jsonschema.Draft202012Validator({**reference, "components": DOCUMENT["components"]})


def test_the_document_is_openapi() -> None:
    """The document is valid by the specification of OpenAPI 3.1."""
    openapi_spec_validator.validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


def test_every_route_is_described_where_it_is_served() -> None:
    """Each method's operation has the verb and the path of its annotation, and there is no other operation."""
    assert sorted(OPERATIONS) == sorted(method.name for method in METHODS)
    assert OPERATIONS["Act"][:2] == ("post", "/v1/games/{game}:act")
    assert OPERATIONS["GetRuleSet"][:2] == ("get", "/v1/ruleSets/{ruleSet}")
    assert OPERATIONS["ListGames"][:2] == ("get", "/v1/games")
    assert sum(len(list(routes_of(service))) for service in SERVICES) == len(OPERATIONS)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_parameter_and_field_is_explained(name: str) -> None:
    """The comments of the protos are in the document: nobody has to read the protos."""
    operation = OPERATIONS[name][2]
    assert operation["summary"]
    assert all(parameter.get("description") or "$ref" in parameter for parameter in operation["parameters"])


def test_every_field_of_every_message_is_explained() -> None:
    """Each property has the comment that its field has in the protos."""
    bare = [
        f"{name}.{field}"
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if name != "Error" and not described.get("description")
    ]
    assert bare == []


def test_the_rules_for_values_are_keywords() -> None:
    """What the protos check is written so that generated clients and forms can check it, too."""
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["GameInput"]["properties"]["seatCount"] | {"description": ""} == {
        "type": "integer",
        "minimum": 2,
        "maximum": 8,
        "description": "",
    }
    assert schemas["Action.LayDown"]["properties"]["cards"]["items"]["pattern"] == "^([A2-9TJQK][CDHS]|JK)$"
    assert schemas["Action.LayDown"]["properties"]["cards"]["maxItems"] == 120
    assert schemas["RuleSet.Ace"]["enum"] == ["ACE_UNSPECIFIED", "ACE_LOW", "ACE_EITHER"]
    assert schemas["ActRequest"]["properties"]["requestId"]["pattern"].startswith("^[0-9a-fA-F]{8}-")
    assert "name" not in schemas["ActRequest"]["properties"]
    assert schemas["ActRequest"]["additionalProperties"] is False


def referred(part: Any) -> Iterator[str]:
    """Each component that some part of the document leads to, at any depth."""
    found: set[str] = set()
    todo = [part]
    while todo:
        part = todo.pop()
        if isinstance(part, dict) and isinstance(name := part.get("$ref"), str) and name not in found:
            found.add(name)
            yield name
            _, _, kind, own = name.split("/")
            todo.append(DOCUMENT["components"][kind][own])
        todo += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []


def schemas_of(part: Any) -> dict[str, dict[str, Any]]:
    """The schemas among what some part of the document leads to."""
    names = [name.rpartition("/")[2] for name in referred(part) if "/schemas/" in name]
    return {name: DOCUMENT["components"]["schemas"][name] for name in names}


ASKED = schemas_of([operation.get("requestBody") for _, _, operation in OPERATIONS.values()])
ANSWERED = schemas_of([operation["responses"]["200"] for _, _, operation in OPERATIONS.values()])


def test_every_component_is_used() -> None:
    """Nothing is described that no operation leads to."""
    components = DOCUMENT["components"]
    assert set(referred(DOCUMENT["paths"])) == {
        f"#/components/{kind}/{name}" for kind in components if kind != "securitySchemes" for name in components[kind]
    }


def test_a_oneof_is_a_choice_of_named_objects() -> None:
    """Each schema with alternatives refers to objects, of which each requires one field that no other has.

    Generators make a union of types of that. What they cannot read are properties beside a `oneOf`.
    """
    schemas = DOCUMENT["components"]["schemas"]
    unions = {name: schema for name, schema in schemas.items() if "oneOf" in schema}
    assert unions.keys() == {"Action", "Event", "ObserveResponse"}
    for name, union in unions.items():
        assert union.keys() == {"oneOf", "description"}
        options = schemas_of({"oneOf": union["oneOf"]})
        names = [option["$ref"].rpartition("/")[2] for option in union["oneOf"]]
        common = set.intersection(*(set(schemas[option]["properties"]) for option in names))
        choices = [[*(schemas[option]["properties"].keys() - common)] for option in names]
        for option, (choice,) in zip(names, choices, strict=True):
            assert options[option]["type"] == "object"
            assert choice in options[option]["required"]
            assert option == f"{choice[0].upper()}{choice[1:]}{name}"
        assert len({choice for (choice,) in choices}) == len(choices)
    assert [option["$ref"] for option in schemas["Action"]["oneOf"]][:2] == [
        "#/components/schemas/DrawAction",
        "#/components/schemas/TakeAction",
    ]
    assert schemas["SnapshotObserveResponse"]["required"] == ["snapshot", "mark"]
    assert not [name for name, schema in schemas.items() if schema.keys() & {"anyOf", "allOf", "not"}]


def test_what_is_asked_and_what_is_answered_are_described_apart() -> None:
    """A request may hold what its client sets and nothing else; an answer has all that is always there, and may grow.

    An action is one schema for both: what ListLegalActions answers is of the type that Act takes.
    """
    schemas = DOCUMENT["components"]["schemas"]
    both = ASKED.keys() & ANSWERED.keys()
    assert {name for name in both if "enum" not in schemas[name]} == schemas_of(schemas["Action"]).keys() - {
        "MeldKind",
        "End",
    } | {"Action"}
    closed = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    assert closed == {name for name in ASKED.keys() - both if ASKED[name].get("type") == "object"}
    assert schemas["GameInput"]["required"] == ["seatCount"]
    assert schemas["GameInput"]["properties"].keys() == {
        "displayName",
        "ruleSet",
        "seatCount",
        "turnLimit",
        "visibility",
        "spectators",
    }
    lacking = {
        name: [field for field in schema["properties"] if field not in schema.get("required", [])]
        for name, schema in ANSWERED.items()
        if name not in both and "properties" in schema
    }
    assert {name: fields for name, fields in lacking.items() if fields} == {
        "CheckRuleSetResponse": ["ruleSet"],
        "Game": ["view", "turnLimit"],
        "Game.Seat": ["bank"],
        "ListEventsResponse": ["snapshot"],
        "RuleSet": ["packs", "handSize", "stake", "carryOver", "oneWinner"],
        "View": ["seat", "turn", "deadline", "options", "lastDeal", "result"],
    }


def test_a_path_parameter_is_the_varying_part_of_a_name() -> None:
    """`{name=games/*}` is `games/{game}`, with what is left of the name's pattern."""
    parameter = OPERATIONS["GetGame"][2]["parameters"][0]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("game", "path", True)
    assert parameter["schema"]["pattern"] == "^[a-z0-9]{1,40}$"


def test_the_query_is_what_path_and_body_leave() -> None:
    """A method without a body has its fields in the query, one whose body is a field the others, one with all none."""

    def query(name: str) -> list[str]:
        return [parameter["name"] for parameter in OPERATIONS[name][2]["parameters"] if parameter.get("in") == "query"]

    assert query("ListGames") == ["pageSize", "pageToken", "preset", "seatCount"]
    assert query("CreateGame") == ["requestId"]
    assert query("Observe") == ["after", "epoch", "mark"]
    assert query("ListEvents") == ["after", "epoch", "pageSize", "wait", "mark"]
    assert query("Act") == []


def test_a_stream_is_described_as_events_that_resume() -> None:
    """A stream answers with server-sent events, or 204, and takes `Last-Event-ID`."""
    operation = OPERATIONS["Observe"][2]
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "204" in operation["responses"]
    assert "Last-Event-ID" in [parameter.get("name") for parameter in operation["parameters"]]


def test_what_needs_an_api_key_says_so() -> None:
    """Where there are keys, the methods that need one ask for it, and the document says how it is sent."""
    keyed = json.loads(document(SERVICES, keyed=frozenset({"CreateGame"})))
    assert keyed["components"]["securitySchemes"]["apiKey"]["name"] == "X-Api-Key"
    assert keyed["paths"]["/v1/games"]["post"]["security"] == [{"apiKey": []}]
    assert "security" not in keyed["paths"]["/v1/games"]["get"]
    assert "apiKey" not in DOCUMENT["components"]["securitySchemes"]


def test_the_answers_with_an_error_list_every_reason() -> None:
    """Each reason that a client can get is explained under its status, and once."""
    told = "\n".join(response["description"] for response in DOCUMENT["components"]["responses"].values())
    for reason in CODES:
        assert told.count(f"`{reason}` (") == (reason != "VERB_NOT_ALLOWED")  # which is no answer of an operation
        assert f"ERROR_REASON_{reason}" in ErrorReason.DESCRIPTOR.values_by_name
    assert "405, `VERB_NOT_ALLOWED`" in DOCUMENT["info"]["description"]


@pytest.mark.parametrize("reason", sorted(CODES))
def test_an_errors_body_is_as_described(reason: str) -> None:
    """The body of any error is valid by the schema of errors."""
    error = ApiError(reason, "text", {"k": "v"})
    schema_of({"$ref": "#/components/schemas/Error"}).validate(json.loads(error_body(error)))


@given(st.data())
@settings(max_examples=10)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
def test_any_answer_is_as_described(method: MethodDescriptor, data: st.DataObject) -> None:
    """Whatever a handler answers with is valid by its schema, but for the rules for what clients send."""
    answer = data.draw(messages(method.output_type, answer=True))
    body = json_format.MessageToDict(answer, always_print_fields_with_no_presence=True)
    schema = {"$ref": f"#/components/schemas/{method.output_type.name}", "components": WITHOUT_RULES}
    assert [*jsonschema.Draft202012Validator(schema).iter_errors(body)] == []


RULES = {"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"}


def without_rules(part: Any) -> Any:
    """Some part of the document less the rules for values; what has their names in `properties` is a schema itself."""
    if isinstance(part, list):
        return [without_rules(item) for item in part]
    if isinstance(part, dict):
        return {
            name: without_rules(value) for name, value in part.items() if name not in RULES or isinstance(value, dict)
        }
    return part


WITHOUT_RULES = without_rules(DOCUMENT["components"])


def test_the_example_of_every_body_can_be_sent() -> None:
    """What the docs offer to send is valid by the schema of the body."""
    for _, _, operation in OPERATIONS.values():
        if "requestBody" in operation:
            media = operation["requestBody"]["content"]["application/json"]
            schema_of(media["schema"]).validate(media["example"])


def test_fields_in_a_query_may_lie_in_messages() -> None:
    """Without a body, each value of a nested message is a parameter by its path."""
    (route,) = routes_of(service_with("/x/{name=*/a/*}", "rummy.v1.Game"))
    path, operation = Operations(Schemas({}, frozenset(), frozenset()), {}).of(route)
    parameters: Any = operation["parameters"]
    names = {parameter.get("name") for parameter in parameters}
    assert path == "/x/{name1}/a/{name3}"
    assert {"name1", "name3", "displayName", "ruleSet.jokers", "ruleSet.seats.least"} <= names
    assert not {"name", "ruleSet", "seats", "view.version"} & names


def test_what_the_document_cannot_say_is_an_error_at_the_start() -> None:
    """A oneof that a request may leave unset, two oneofs in a message, or two schemas of one name are errors."""
    schemas = Schemas({}, frozenset(), frozenset())
    with pytest.raises(ValueError, match="none may be chosen"):
        schemas.message(Event.DESCRIPTOR, Form.REQUEST)
    with pytest.raises(ValueError, match="no two oneofs"):
        schemas.message(FieldRules.DESCRIPTOR.file.message_types_by_name["FloatRules"], Form.ANSWER)
    schemas = Schemas({}, frozenset(), frozenset())
    schemas.components["DrewEvent"] = {}
    with pytest.raises(ValueError, match="DrewEvent is another message"):
        schemas.message(Event.DESCRIPTOR, Form.ANSWER)


TABLE = Game(
    name="games/a",
    seat_count=2,
    epoch="e1",
    version=1,
    rule_set=rule_set_to(PRESETS["basic"], "basic"),
    create_time=Timestamp(seconds=1),
    update_time=Timestamp(seconds=1),
    expire_time=Timestamp(seconds=1),
)
BACKEND = Backend(
    {
        **dict.fromkeys(["CreateGame", "GetGame", "FindGame", "LeaveGame", "StartGame", "AddBot", "ResumeSeat"], TABLE),
        **dict.fromkeys(["JoinGame", "QuickJoin", "Rematch"], JoinGameResponse(seat=1, token="t", game=TABLE)),  # noqa: S106  nobody's
        "Act": ActResponse(view=View()),
        "SuggestAction": SuggestActionResponse(action=Action(draw=Action.Draw())),
        "GetRuleSet": TABLE.rule_set,
        "Observe": [ObserveResponse(snapshot=TABLE), ApiError("SERVER_DRAINING", "the server stops")],
    }
)
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", new_app(BACKEND.calls()))


@SCHEMA.parametrize()
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_what_the_document_says_is_what_happens(case: "schemathesis.Case[Any]") -> None:
    """Requests made up by the document, good and bad, are answered with documented statuses, headers and bodies."""
    case.call_and_validate(
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_headers_conformance,
            response_schema_conformance,
            unsupported_method,
        ]
    )
