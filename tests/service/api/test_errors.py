"""The table of errors, and what becomes of each exception."""

import ast
import base64
import json
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.rpc import code_pb2, error_details_pb2
from rummy.v1 import error_reason_pb2
from rummy.v1.rule_set_pb2 import RuleSet

import service
from engine.errors import BadRequest, BadRules, Misfit, Reason, Refused
from service.api.convert.rules import rules_from
from service.api.errors import (
    CODES,
    DOMAIN,
    HTTP_STATUSES,
    ApiError,
    Violation,
    answer_to,
    http_status_of,
    impossible,
    invalid,
)
from service.games.errors import GameError, GameReason
from service.store.errors import BadAddress, BadCursor, BadRecord, HistoryLost, NewerTable, StoreUnavailable

PREFIX = "ERROR_REASON_"
DECLARED = {value.name.removeprefix(PREFIX) for value in error_reason_pb2.ErrorReason.DESCRIPTOR.values if value.number}


def info_of(error: ApiError) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    assert error.status().details[0].Unpack(info)
    return info


def bad_fields(error: ApiError) -> list[tuple[str, str, str]]:
    bad = error_details_pb2.BadRequest()
    assert error.status().details[1].Unpack(bad)
    return [(violation.field, violation.description, violation.reason) for violation in bad.field_violations]


def test_every_reason_has_a_code() -> None:
    """The API declares the reasons that the table knows and no others, and each code has an HTTP status."""
    assert set(CODES) == DECLARED
    assert set(CODES.values()) == set(HTTP_STATUSES)
    assert all(type(reason) is str for reason in CODES)


@pytest.mark.parametrize("reasons", [Reason, GameReason])
def test_every_reason_of_the_layers_below_is_declared(reasons: type[Reason] | type[GameReason]) -> None:
    """Whatever reason the engine or a use case gives, clients find it in the API: a match is over as GAME_OVER."""
    assert {reason.value for reason in reasons} - DECLARED == ({"MATCH_OVER"} if reasons is Reason else set())


def test_every_declared_reason_is_given_somewhere() -> None:
    """No reason is declared that no code gives: clients do not prepare for what cannot happen."""
    words = {
        node.attr if isinstance(node, ast.Attribute) else node.value
        for root in (Path(service.__file__).parent, Path(service.__file__).parent.parent / "engine")
        for path in root.rglob("*.py")
        if path.parts[-2:] not in {("api", "errors.py"), ("games", "errors.py"), ("engine", "errors.py")}
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    }
    words |= {"INVALID_FIELD", "INVALID_RULE_SET", "INVALID_PAGE_TOKEN", "ACTION_AFTER_DRAW"}
    words |= {"STORE_UNAVAILABLE", "NEWER_SCHEMA", "INTERNAL"}  # made where the table is
    assert DECLARED - words == set()


def test_an_error_is_told_on_grpc_as_a_status() -> None:
    """The status has the code, the sentence, and an ErrorInfo with reason, domain and metadata."""
    error = ApiError("VERSION_MISMATCH", "a sentence", {"current_version": "4"})
    status = error.status()
    assert (status.code, status.message) == (code_pb2.ABORTED, "a sentence")
    info = info_of(error)
    assert (info.reason, info.domain, dict(info.metadata)) == ("VERSION_MISMATCH", DOMAIN, {"current_version": "4"})
    assert len(status.details) == 1


def test_an_error_says_when_to_come_again() -> None:
    """A refusal that ends by itself has a RetryInfo, to the millisecond and never too short."""
    status = ApiError("LIMIT_EXCEEDED", "too often", retry_s=1.2345).status()
    retry = error_details_pb2.RetryInfo()
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1235


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("VERB_NOT_ALLOWED", 405),
        ("BODY_TOO_SLOW", 408),
        ("BODY_TOO_LARGE", 413),
        ("BODY_COMPRESSED", 415),
        ("HEAD_TOO_LARGE", 431),
    ],
)
def test_what_http_refuses_has_its_own_status(reason: str, status: int) -> None:
    """What only HTTP can refuse has the status that HTTP has for it, whatever its code."""
    assert ApiError(reason, "a sentence").http_status == http_status_of(reason) == status


@pytest.mark.parametrize("reason", sorted(CODES))
def test_an_error_is_told_on_rest_as_aip_193_has_it(reason: str) -> None:
    """The body has HTTP's status, the sentence, the code's name and the details, as the AIP writes them."""
    error = ApiError(reason, "a sentence", {"k": "v"}, [Violation("a.b", "is wrong", "WRONG")])
    body = error.body()["error"]
    assert isinstance(body, dict)
    assert body == {
        "code": http_status_of(reason),
        "message": "a sentence",
        "status": code_pb2.Code.Name(CODES[reason]),
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason,
                "domain": "rummyd",
                "metadata": {"k": "v"},
            },
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": "a.b", "description": "is wrong", "reason": "WRONG"}],
            },
        ],
    }
    assert json.loads(json.dumps(body)) == body


def test_bad_fields_are_all_named() -> None:
    """Every violation is in the details, and the sentence reads like one."""
    error = invalid([Violation("a", "is wrong"), Violation("b[2]", "is too long", "LONG")])
    assert error.reason == "INVALID_FIELD"
    assert error.text == "a: is wrong; b[2]: is too long"
    assert bad_fields(error) == [("a", "is wrong", "INVALID"), ("b[2]", "is too long", "LONG")]
    assert dict(info_of(error).metadata) == {}


def test_a_violation_of_the_whole_request_has_no_path() -> None:
    """What is wrong with a request as a whole is told without a field."""
    assert invalid([Violation("", "is no message")]).text == "is no message"


def test_a_front_may_have_names_of_its_own_for_fields() -> None:
    """An error can be told with other names for its bad fields, in its details as in its sentence."""
    found = [Violation(f"a_{number}", "is wrong") for number in range(5)]
    error = impossible(found).renamed(str.upper)
    assert error.text == "the rule set cannot be played: A_0: is wrong; A_1: is wrong; A_2: is wrong; and 2 more"
    assert [field for field, _, _ in bad_fields(error)] == [violation.field.upper() for violation in found]
    limited = ApiError("LIMIT_EXCEEDED", "later", {"k": "v"}, [Violation("a", "is wrong")], 2.0).renamed(str.upper)
    assert (limited.text, limited.metadata, limited.retry_s) == ("later", {"k": "v"}, 2.0)
    assert bad_fields(limited) == [("A", "is wrong", "INVALID")]


@pytest.mark.parametrize("path", ["actions[63].lay_down.cards[119]", "g" * 200, "ü" * 60])
def test_an_error_fits_the_trailers_of_a_call(path: str) -> None:
    """Of thousands of bad fields as many are named as gRPC has room for, and the rest are counted."""
    violations = [Violation(f"{path}{index}", "does not match the pattern", "STRING_PATTERN") for index in range(7680)]
    error = invalid(violations)
    sent = len(base64.b64encode(error.status().SerializeToString())) + len(error.text)
    assert 5000 < sent < 8192 - 500
    named = bad_fields(error)
    assert [field for field, _, _ in named] == [violation.field for violation in violations[: len(named)]]
    assert int(info_of(error).metadata["violations_left_off"]) == 7680 - len(named)
    assert "and 7677 more" in error.text


def test_every_fault_of_a_rule_set_fits() -> None:
    """A rule set without any field is told of each that is missing."""
    with pytest.raises(BadRules) as refusal:
        rules_from(RuleSet())
    found = [Violation(f"game.rule_set.{fault.field}", fault.text, fault.reason) for fault in refusal.value.faults]
    error = impossible(found)
    assert error.reason == "INVALID_RULE_SET"
    assert len(bad_fields(error)) == len(found) > 30


def test_a_refusal_names_clause_rule_cards_and_action() -> None:
    """What the rules forbid is told with all that a client needs to explain it (G2)."""
    refusal = Refused(Reason.SAME_CARD_AS_TAKEN, "why", clause="B6", field="discard_differs", cards="7H")
    refusal.index = 2
    error = answer_to(refusal, "id")
    assert (error.reason, error.code_name, error.text) == ("SAME_CARD_AS_TAKEN", "FAILED_PRECONDITION", "why")
    assert error.metadata == {"clause": "B6", "rule": "discard_differs", "cards": "7H", "action": "2"}


def test_a_refusal_names_nothing_that_it_does_not_have() -> None:
    """Where no cards and no rule are concerned the metadata has no empty entries."""
    error = answer_to(Misfit(Reason.NOT_A_MELD, "why", clause="B5"), "id")
    assert error.metadata == {"clause": "B5", "action": "0"}


@pytest.mark.parametrize("reason", GameReason)
def test_a_use_cases_refusal_is_passed_on(reason: GameReason) -> None:
    """What a use case refuses is answered with its reason, sentence and metadata."""
    error = answer_to(GameError(reason, "why", {"k": "v"}), "id")
    assert (error.reason, error.text, error.metadata) == (reason, "why", {"k": "v"})


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        (BadRequest("why", 3), "ACTION_AFTER_DRAW"),
        (BadCursor("x"), "INVALID_PAGE_TOKEN"),
        (StoreUnavailable("Redis at 10.0.0.7 is away"), "STORE_UNAVAILABLE"),
        (NewerTable(9, 1), "NEWER_SCHEMA"),
        (BadRecord("not a table"), "INTERNAL"),
        (BadAddress("no address"), "INTERNAL"),
        (HistoryLost(3), "INTERNAL"),
        (ValueError("rst_secret"), "INTERNAL"),
        (KeyError("seed"), "INTERNAL"),
        (TimeoutError(), "INTERNAL"),
    ],
)
def test_every_exception_has_an_answer(exception: Exception, reason: str) -> None:
    """What the layers below raise on purpose has a reason of its own; anything else is a fault of the server."""
    assert answer_to(exception, "id").reason == reason


def test_an_action_after_a_draw_is_named() -> None:
    """The violation names the action that is at fault, as the request has it."""
    assert bad_fields(answer_to(BadRequest("why", 3), "id")) == [("actions[3]", "why", "ACTION_AFTER_DRAW")]


@pytest.mark.parametrize("exception", [ValueError("rst_secret 7H"), StoreUnavailable("10.0.0.7"), BadRecord("x 7H")])
def test_a_fault_of_the_server_says_nothing_of_its_cause(exception: Exception) -> None:
    """No word of an unexpected exception, or of where the store is, leaves the server; the id finds it in the log."""
    error = answer_to(exception, "the-call")
    told = json_format.MessageToJson(error.status())
    assert not any(word in told for word in str(exception).split())
    assert error.reason != "INTERNAL" or error.metadata == {"call_id": "the-call"}


def test_an_answer_is_its_own_answer() -> None:
    """What is an answer already stays the same object."""
    error = ApiError("INTERNAL", "x")
    assert answer_to(error, "id") is error
