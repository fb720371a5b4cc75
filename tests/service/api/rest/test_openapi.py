"""The description of the API: it is OpenAPI, it is the protos', and what it says is what happens."""

import json
from typing import Any

import jsonschema
import openapi_spec_validator
import pytest
import schemathesis
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rummy.v1.error_reason_pb2 import ErrorReason
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import JoinGameResponse, ObserveResponse
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from service.api.errors import CODES, ApiError
from service.api.rest.answers import error_body
from service.api.rest.openapi import document
from service.api.rest.operations import Operations
from service.api.rest.routes import routes_of
from service.api.rest.schemas import Schemas
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
    assert schemas["Game"]["properties"]["seatCount"] | {"description": ""} == {
        "type": "integer",
        "minimum": 2,
        "maximum": 8,
        "description": "",
    }
    assert schemas["Game"]["required"] == ["seatCount"]
    assert schemas["Game"]["properties"]["version"]["readOnly"]
    assert schemas["Action.LayDown"]["properties"]["cards"]["items"]["pattern"] == "^([A2-9TJQK][CDHS]|JK)$"
    assert schemas["Action.LayDown"]["properties"]["cards"]["maxItems"] == 120
    assert {"required": ["swapJoker"]} in schemas["Action"]["oneOf"]
    assert schemas["RuleSet.Ace"]["enum"] == ["ACE_UNSPECIFIED", "ACE_LOW", "ACE_EITHER"]
    assert schemas["ActRequest"]["properties"]["requestId"]["pattern"].startswith("^[0-9a-fA-F]{8}-")
    assert "name" not in schemas["ActRequest"]["properties"]
    assert schemas["ActRequest"]["additionalProperties"] is False


def test_a_path_parameter_is_the_varying_part_of_a_name() -> None:
    """`{name=games/*}` is `games/{game}`, with what is left of the name's pattern."""
    parameter = OPERATIONS["GetGame"][2]["parameters"][0]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("game", "path", True)
    assert parameter["schema"]["pattern"] == "^[a-z0-9]{1,40}$"


def test_the_query_is_what_path_and_body_leave() -> None:
    """A method without a body has its fields in the query, one whose body is a field the others, one with all none."""

    def query(name: str) -> list[str]:
        return [parameter["name"] for parameter in OPERATIONS[name][2]["parameters"] if parameter.get("in") == "query"]

    assert query("ListGames") == ["pageSize", "pageToken"]
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
        assert told.count(f"`{reason}` (") == 1
        assert f"ERROR_REASON_{reason}" in ErrorReason.DESCRIPTOR.values_by_name


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
    answer = data.draw(messages(method.output_type))
    body = json_format.MessageToDict(answer, always_print_fields_with_no_presence=True)
    faults = [
        error
        for error in schema_of({"$ref": f"#/components/schemas/{method.output_type.name}"}).iter_errors(body)
        if error.validator not in {"minimum", "maximum", "minItems", "maxLength", "pattern", "oneOf"}
    ]
    assert faults == []


def test_the_example_of_every_body_can_be_sent() -> None:
    """What the docs offer to send is valid by the schema of the body."""
    for _, _, operation in OPERATIONS.values():
        if "requestBody" in operation:
            media = operation["requestBody"]["content"]["application/json"]
            schema_of(media["schema"]).validate(media["example"])


def test_fields_in_a_query_may_lie_in_messages() -> None:
    """Without a body, each value of a nested message is a parameter by its path."""
    (route,) = routes_of(service_with("/x/{name=*/a/*}", "rummy.v1.Game"))
    path, operation = Operations(Schemas({}, frozenset()), {}).of(route)
    parameters: Any = operation["parameters"]
    names = {parameter.get("name") for parameter in parameters}
    assert path == "/x/{name1}/a/{name3}"
    assert {"name1", "name3", "displayName", "ruleSet.jokers", "ruleSet.seats.least"} <= names
    assert not {"name", "ruleSet", "seats", "view.version"} & names


TABLE = Game(name="games/a", seat_count=2, epoch="e1", version=1)
BACKEND = Backend(
    {
        **dict.fromkeys(["CreateGame", "GetGame", "FindGame", "LeaveGame", "StartGame", "AddBot", "ResumeSeat"], TABLE),
        **dict.fromkeys(["JoinGame", "QuickJoin", "Rematch"], JoinGameResponse(seat=1, token="t", game=TABLE)),  # noqa: S106  nobody's
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
