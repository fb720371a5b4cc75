"""A whole server as a process of its own: how it starts, what it says, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from rummy.v1 import game_service_pb2, game_service_pb2_grpc

from service.embedded import EmbeddedRedis
from tests.service.processes import FREE_PORTS, LONGEST, THROW_AWAY, Running, children, outcome, server, wait_until_gone
from tests.web import HTTP

POST = b"POST /v1/games HTTP/1.1\r\nhost: x\r\n"


def test_a_whole_life() -> None:
    """It starts with nothing at hand, says where it is, answers everywhere, and ends with 0 leaving nothing behind."""
    with server(*THROW_AWAY, "--log-format", "json") as running:
        assert HTTP.get(f"{running.rest}/healthz").status_code == 200
        assert HTTP.get(f"{running.rest}/readyz").status_code == 200
        assert HTTP.get(running.address("docs"), follow_redirects=True).status_code == 200
        assert HTTP.get(f"{running.rest}/openapi.json").json()["openapi"].startswith("3.1")
        assert "rummyd_ready 1.0" in HTTP.get(running.address("metrics")).text
        assert _health(running) == health_pb2.HealthCheckResponse.SERVING
        with grpc.insecure_channel(running.address("gRPC")) as channel:
            request = reflection_pb2.ServerReflectionRequest(list_services="")
            (listed,) = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([request]))
            assert "rummy.v1.GameService" in {found.name for found in listed.list_services_response.service}
        left = children(running.process)
        assert left
        status, errors = running.end()
    assert status == 0
    assert {json.loads(line)["event"] for line in errors.splitlines()} >= {"started", "stopped"}
    wait_until_gone(left)


def test_the_curl_line_creates_a_table() -> None:
    """What the banner says to type does create a table, whose URL the name gives."""
    with server(*THROW_AWAY) as running:
        command = running.banner.splitlines()[-1]
        found = re.fullmatch(r"  curl -X POST (\S+) -d '(.+)'", command)
        assert found
        created = HTTP.post(found[1], content=found[2])
        assert created.status_code == 200, created.text
        assert HTTP.get(f"{running.rest}/v1/{created.json()['name']}").json()["seatCount"] == 4


def test_data_are_kept(tmp_path: Path) -> None:
    """With a folder for its data, a table is still there after a stop and a start; Ctrl-C stops it with 0."""
    flags = ("--embedded", "--data-dir", str(tmp_path / "data"), *FREE_PORTS)
    with server(*flags) as running:
        assert str(tmp_path / "data") in running.address("games")
        name = HTTP.post(f"{running.rest}/v1/games", json={"seatCount": 2}).json()["name"]
        assert running.end(signal.SIGINT)[0] == 0
    with server(*flags) as running:
        assert HTTP.get(f"{running.rest}/v1/{name}").json()["name"] == name


def test_redis_url_wins_over_embedded(redis_url: str) -> None:
    """With a Redis URL no server is started, and the banner says which Redis is used."""
    with server("--embedded", *FREE_PORTS, RUMMYD_REDIS_URL=redis_url) as running:
        assert running.address("games") == f"in the Redis at {redis_url}"
        assert not children(running.process)
        assert running.end()[0] == 0


@pytest.mark.parametrize(
    ("flag", "name"), [("--grpc-port", "gRPC"), ("--rest-port", "REST"), ("--metrics-port", "metrics")]
)
def test_port_in_use_is_one_line(flag: str, name: str) -> None:
    """A port that another listens on is one line that names it, and exit status 1."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        status, output, errors = outcome(*THROW_AWAY, flag, str(port), "--log-level", "error")
    assert (status, output) == (1, "")
    assert errors == (
        f"rummyd: {name} cannot listen on 127.0.0.1:{port}: address already in use ({flag} gives another port)\n"
    )


def test_unreachable_redis_is_one_line() -> None:
    """A Redis that does not answer is one line that names it without its password, and exit status 1."""
    url = "redis://user:hunter2@127.0.0.1:1/0"
    status, output, errors = outcome(*FREE_PORTS, "--log-level", "error", RUMMYD_REDIS_URL=url)
    assert (status, output) == (1, "")
    (line,) = errors.splitlines()
    assert line.startswith("rummyd: no Redis answers at redis://127.0.0.1:1/0: ")
    assert "hunter2" not in line


def test_bad_redis_url_is_one_line() -> None:
    """An address that is none of Redis's is one line that doesn't repeat it, and exit status 1."""
    status, _, errors = outcome(*FREE_PORTS, RUMMYD_REDIS_URL="http://user:hunter2@x")
    assert status == 1
    (line,) = errors.splitlines()
    assert line.startswith("rummyd: the Redis URL is unusable: ")
    assert "hunter2" not in line


def test_bad_setting_is_one_line() -> None:
    """A bad setting is one line that names it, and exit status 2."""
    assert outcome(RUMMYD_GRPC_PORT="http") == (
        2,
        "",
        "rummyd: RUMMYD_GRPC_PORT=http: must be an integer from 0 to 65535\n",
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"shop:hunter2", "entry 1 is not NAME:KEY, with a key of 16 to 128 characters"),
        (b"# nobody\n", "there is none in {file}"),
        (b"\xff\xfe", "{file} cannot be read: it is no text"),
        (None, "{file} cannot be read: No such file or directory"),
    ],
)
def test_bad_api_keys_are_one_line(tmp_path: Path, content: bytes | None, why: str) -> None:
    """Keys that cannot be read, or are none, keep a server from starting, and never stand in what it says."""
    file = tmp_path / "keys"
    if content is not None:
        file.write_bytes(content)
    status, _, errors = outcome(*THROW_AWAY, *FREE_PORTS, "--api-keys-file", str(file))
    assert (status, errors) == (1, f"rummyd: API keys: {why.format(file=file)}\n")
    assert "hunter2" not in errors


def test_data_in_use_is_one_line(tmp_path: Path) -> None:
    """A data folder that another server uses is one line, and exit status 1."""
    with EmbeddedRedis(data=tmp_path):
        status, _, errors = outcome("--embedded", "--data-dir", str(tmp_path), *FREE_PORTS)
    assert status == 1
    assert errors == f"rummyd: another server keeps its data in {tmp_path}\n"


def test_log_and_metrics_give_nothing_away() -> None:
    """Seats are taken, cards drawn, calls refused: the log and the metrics hold no token and no card afterwards."""
    with server(*THROW_AWAY, "--log-level", "debug", "--log-format", "json") as running:
        name = HTTP.post(f"{running.rest}/v1/games", json={"seatCount": 2}).json()["name"]
        game = f"{running.rest}/v1/{name}"
        tokens = [HTTP.post(f"{game}:join", json={"displayName": who}).json()["token"] for who in ("Ann", "Bo")]
        hands = []
        for token in [*tokens, "wrong"]:
            about = {"authorization": f"Bearer {token}"}
            for _ in range(2):
                HTTP.post(f"{game}:act", json={"actions": [{"draw": {}}]}, headers=about)
            hands += HTTP.get(game, headers=about).json().get("view", {}).get("hand", [])
        assert len(hands) >= 14
        counted = HTTP.get(running.address("metrics")).text
        status, log = running.end()
    assert status == 0
    calls = [json.loads(line) for line in log.splitlines() if '"call"' in line]
    assert {call["reason"] for call in calls if "reason" in call} >= {"NOT_YOUR_TURN", "TOKEN_INVALID"}
    for text in (log, counted):
        for token in tokens:
            assert token not in text
        for card in hands:
            assert not re.search(rf"\b{card}\b", text)


def test_streams_are_told_to_go_elsewhere() -> None:
    """A stream that is open at the signal ends with UNAVAILABLE, and the server does not wait out its grace."""
    with ExitStack() as stack:
        running = stack.enter_context(server(*THROW_AWAY, "--grace-seconds", "60"))
        channel = stack.enter_context(grpc.insecure_channel(running.address("gRPC")))
        name = HTTP.post(f"{running.rest}/v1/games", json={"seatCount": 2}).json()["name"]
        stream = game_service_pb2_grpc.GameServiceStub(channel).Observe(game_service_pb2.ObserveRequest(name=name))
        assert next(stream).snapshot.name == name
        start = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert isinstance(caught.value, grpc.Call)
        status = rpc_status.from_call(caught.value)
        assert status is not None
        assert b"SERVER_DRAINING" in status.details[0].value
        assert running.process.wait() == 0
        assert time.monotonic() - start < 30


def test_second_signal_ends_it_at_once() -> None:
    """While calls under way have their grace, a second signal ends the process, and its Redis, there and then."""
    with server(*THROW_AWAY, "--grace-seconds", "600", *PATIENT) as running, unanswered(running) as (_, redis):
        running.process.send_signal(signal.SIGTERM)
        _wait_until_it_drains(running)  # two signals that come before the first is heard are one
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(1)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 128 + signal.SIGTERM
        os.kill(redis, signal.SIGCONT)
        wait_until_gone([redis])


def test_grace_is_limited() -> None:
    """A call that does not end is told after the grace that the server stops, and the exit status is 0 all the same."""
    with server(*THROW_AWAY, "--grace-seconds", "0.5", *PATIENT) as running, unanswered(running) as (call, redis):
        running.process.send_signal(signal.SIGTERM)
        told = read(call)
        os.kill(redis, signal.SIGCONT)
        _, errors = running.process.communicate()
        assert running.process.returncode == 0
    assert told.startswith(b"HTTP/1.1 503")
    assert b"SERVER_DRAINING" in told
    assert "Traceback" not in errors


def test_a_request_that_is_half_there_is_turned_away() -> None:
    """Whose body has not come when the server stops is told so at once, and does not use up the grace of others."""
    with server(*THROW_AWAY, "--grace-seconds", "600") as running, connected(running) as half:
        half.sendall(POST + b"content-length: 10\r\n\r\n{")
        assert HTTP.get(f"{running.rest}/healthz").status_code == 200
        running.process.send_signal(signal.SIGTERM)
        told = read(half)
        _, errors = running.process.communicate()
        assert running.process.returncode == 0
    assert told.startswith(b"HTTP/1.1 503")
    assert b"SERVER_DRAINING" in told
    assert "Traceback" not in errors


def test_half_requests_are_given_up() -> None:
    """Who sends nothing, or half of a head, or half of a body, is hung up on in time, the last with a reason."""
    with server(*THROW_AWAY, "--receive-seconds", "0.5") as running, ExitStack() as stack:
        for half in (b"", POST, POST + b"content-length: 10\r\n\r\n{"):
            connection = stack.enter_context(connected(running))
            connection.sendall(half)
            told = read(connection)
            assert told.startswith(b"HTTP/1.1 408") if half.endswith(b"{") else told == b""
            assert (b"BODY_TOO_SLOW" in told) == half.endswith(b"{")


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"hello, server\r\n\r\n", b"400", "INVALID_FIELD"),
        (POST + b"content-length: -1\r\n\r\n", b"400", "INVALID_FIELD"),
        (POST + b"x: " + b"x" * 40_000 + b"\r\n\r\n", b"431", "HEAD_TOO_LARGE"),
    ],
)
def test_what_is_no_request_is_refused_as_any_bad_one(sent: bytes, status: bytes, reason: str) -> None:
    """The answer is JSON with a reason and the call's id, which the log has, too."""
    with server(*THROW_AWAY) as running, connected(running) as connection:
        connection.sendall(sent)
        head, _, body = read(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 " + status)
        assert json.loads(body)["error"]["details"][0]["reason"] == reason
        assert b"\r\nx-request-id: " in head


def test_connections_for_their_own_sake_are_in_nobodys_way() -> None:
    """More connections without a request than the process may have descriptors leave it ready, and serving others."""
    with server(*THROW_AWAY, "--receive-seconds", "600", descriptors=300) as running, ExitStack() as stack:
        halves = [stack.enter_context(connected(running)) for _ in range(500)]
        for half in halves:
            with suppress(ConnectionError):
                half.sendall(POST)
        assert HTTP.get(f"{running.rest}/readyz").status_code == 200
        assert HTTP.post(f"{running.rest}/v1/games", json={"seatCount": 2}).status_code == 200
        for half in halves[:300]:
            with suppress(ConnectionError):
                assert half.recv(1) == b""


def test_who_reads_nothing_does_not_outlast_the_grace() -> None:
    """A client that takes nothing of its answers is hung up on at the end of the grace, without a fault in the log."""
    flags = ("--grace-seconds", "0.5", "--send-seconds", "600", "--log-format", "json")
    with server(*THROW_AWAY, *flags) as running, connected(running) as deaf:
        deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
        assert HTTP.get(f"{running.rest}/healthz").status_code == 200
        status, errors = running.end()
    assert status == 0
    assert [line for line in errors.splitlines() if json.loads(line)["level"] != "info"] == []


PATIENT = ("--redis-timeout-seconds", "60")


@contextmanager
def connected(running: Running) -> Iterator[socket.socket]:
    """A connection to the server's REST."""
    host, port = running.rest.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=LONGEST) as connection:
        yield connection


@contextmanager
def unanswered(running: Running) -> Iterator[tuple[socket.socket, int]]:
    """A call that is under way for as long as the embedded Redis, whose process it gives, too, is held up."""
    (redis,) = children(running.process)
    with connected(running) as call:
        os.kill(redis, signal.SIGSTOP)
        try:
            call.sendall(POST + b'content-length: 15\r\n\r\n{"seatCount":2}')
            assert HTTP.get(f"{running.rest}/healthz").status_code == 200
            yield call, redis
        finally:
            with suppress(ProcessLookupError):
                os.kill(redis, signal.SIGCONT)


def read(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_it_does_not_outlive_its_embedded_redis() -> None:
    """When the embedded Redis is gone, so are the games: the server says so and ends with 1."""
    with server(*THROW_AWAY, "--log-format", "json") as running:
        for pid in children(running.process):
            os.kill(pid, signal.SIGKILL)
        _, errors = running.process.communicate()
        assert running.process.returncode == 1
        assert "the embedded Redis has ended" in errors
        assert "Traceback" not in errors


def test_readiness_follows_redis(embedded_redis: EmbeddedRedis) -> None:
    """While Redis is away the server is alive and not ready; it is ready again when Redis is back."""
    with server(*FREE_PORTS, RUMMYD_REDIS_URL=embedded_redis.url) as running:
        _wait_for(f"{running.rest}/readyz", 200)
        embedded_redis.kill()
        _wait_for(f"{running.rest}/readyz", 503)
        assert HTTP.get(f"{running.rest}/healthz").status_code == 200
        assert "rummyd_ready 0.0" in HTTP.get(running.address("metrics")).text
        assert _health(running) == health_pb2.HealthCheckResponse.NOT_SERVING
        embedded_redis.start()
        _wait_for(f"{running.rest}/readyz", 200)
        assert running.end()[0] == 0


def _wait_for(url: str, status: int) -> None:
    deadline = time.monotonic() + LONGEST
    while HTTP.get(url).status_code != status:
        assert time.monotonic() < deadline, f"{url} does not answer with {status}"
        time.sleep(0.1)


def _wait_until_it_drains(running: Running) -> None:
    """Until it says so, or listens no more."""
    with suppress(httpx.NetworkError, httpx.RemoteProtocolError):
        _wait_for(f"{running.rest}/readyz", 503)


def _health(running: Running) -> int:
    """What gRPC says of the server's health."""
    with grpc.insecure_channel(running.address("gRPC")) as channel:
        return int(health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest()).status)
