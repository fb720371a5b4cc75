"""What a log line looks like, and what never is in one."""

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator

import pytest
import structlog

from engine.actions import Discard
from service.observability import logs
from service.observability.account import recorded

Lines = Callable[[], list[dict[str, object]]]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Gives the process its logging back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def lines() -> Lines:
    """Logs as JSON from debug on, and gives the lines written so far."""
    stream = io.StringIO()
    logs.configure(json=True, level="debug", instance="here", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_line_has_time_level_and_logger(lines: Lines) -> None:
    """A line is one JSON object with an ISO time in UTC, its level, its logger's name and its fields."""
    structlog.get_logger("service.test").info("started", port=1)
    (line,) = lines()
    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {"event": "started", "port": 1, "level": "info", "logger": "service.test", "instance": "here"}


def test_library_lines_look_the_same(lines: Lines) -> None:
    """What a library logs with the standard library comes in the same form."""
    logging.getLogger("uvicorn.error").warning("cannot %s", "listen")
    (line,) = lines()
    line.pop("timestamp")
    assert line == {"event": "cannot listen", "level": "warning", "logger": "uvicorn.error", "instance": "here"}


def test_library_chatter_is_left_out(lines: Lines) -> None:
    """Of libraries only warnings and worse are logged, whatever the level of ours."""
    for name in ("grpc._cython.cygrpc", "redis.connection", "uvicorn.access", "asyncio"):
        logging.getLogger(name).info("chatter")
    assert not lines()


def test_python_warnings_are_logged(lines: Lines) -> None:
    """A warning of Python's is a line like any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("soon gone", DeprecationWarning, stacklevel=1)
    assert any("soon gone" in str(line["event"]) for line in lines())


def test_level_is_kept() -> None:
    """Lines below the level are not written."""
    stream = io.StringIO()
    logs.configure(json=True, level="warning", instance="here", stream=stream)
    structlog.get_logger("a").info("quiet")
    logging.getLogger("b").info("quiet")
    structlog.get_logger("a").warning("loud")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["loud"]


@pytest.mark.parametrize(
    "key", ["token", "seat_token", "authorization", "Authorization", "seed", "next_seed", "seeds", "secret", "password"]
)
def test_secrets_are_hidden_by_name(lines: Lines, key: str) -> None:
    """A value whose key names a secret is not written, at any depth."""
    structlog.get_logger("a").info("x", **{key: "0xhidden"}, deep={"list": [{key: "0xhidden"}]})
    (line,) = lines()
    assert line[key] == logs.HIDDEN
    assert "0xhidden" not in json.dumps(line)


@pytest.mark.parametrize("key", ["cards", "card", "hand", "hands", "own_hand", "stock"])
def test_cards_are_hidden_by_name(lines: Lines, key: str) -> None:
    """Neither cards nor hands are written."""
    structlog.get_logger("a").info("x", **{key: "AS 2H"})
    assert lines()[0][key] == logs.HIDDEN


def test_innocent_names_are_kept(lines: Lines) -> None:
    """A key that only looks like a secret's is written."""
    structlog.get_logger("a").info("x", handler="h", seat=2, discarded=3)
    line = lines()[0]
    assert (line["handler"], line["seat"], line["discarded"]) == ("h", 2, 3)


def test_objects_are_named_by_type_only(lines: Lines) -> None:
    """A value that is no plain one, such as an action or bytes, is not written out: it may hold cards."""
    structlog.get_logger("a").info("x", action=Discard(card=17), data=b"\x11\x12")
    line = lines()[0]
    assert (line["action"], line["data"]) == ("<Discard>", "<bytes>")


def test_any_text_and_number_can_be_written(lines: Lines) -> None:
    """Text that no encoding has, numbers beyond 64 bits and infinities are no reason for a line to fail."""
    structlog.get_logger("a").info("x", text="\ud800", number=2**70, infinite=float("inf"))
    assert lines()[0]["number"] == 2**70


@pytest.mark.parametrize("json_lines", [True, False])
def test_traceback_shows_no_local_variables(json_lines: bool) -> None:
    """An exception is written with its traceback, and without the values of any variable."""
    stream = io.StringIO()
    logs.configure(json=json_lines, level="info", instance="here", stream=stream)
    seen = "0x" + "hidden"
    try:
        raise LookupError(f"of length {len(seen)}")
    except LookupError:
        structlog.get_logger("a").exception("crashed")
        logging.getLogger("b").exception("crashed")
    text = stream.getvalue()
    assert text.count("LookupError: of length 8") == 2
    assert "0xhidden" not in text


def test_lines_of_a_call_carry_its_id(lines: Lines) -> None:
    """A line logged for a call, by us or by a library, has the call's id."""
    with recorded("rummy.v1.GameService.Act", "test", "id-1"):
        structlog.get_logger("a").info("ours")
        logging.getLogger("b").warning("theirs")
    assert [(line["event"], line["call_id"]) for line in lines()] == [
        ("ours", "id-1"),
        ("theirs", "id-1"),
        ("call", "id-1"),
    ]


def test_console_is_for_people() -> None:
    """The console form is text without colours where the stream is no terminal."""
    stream = io.StringIO()
    logs.configure(json=False, level="info", instance="here", stream=stream)
    structlog.get_logger("a").info("started", port=1)
    text = stream.getvalue()
    assert "started" in text
    assert "port=1" in text
    assert "\x1b" not in text
