"""Several processes on the same ports: how they share, and how one that ends is replaced."""

import json
import os
import signal
import socket
import time
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from tests.service.processes import FREE_PORTS, LONGEST, THROW_AWAY, Running, children, outcome, server, wait_until_gone
from tests.web import HTTP

TWO = (*FREE_PORTS, "--workers", "2", "--log-format", "json")


def sample(running: Running, name: str, **labels: str) -> float:
    """The sum of a metric's samples with these labels. Prometheus takes each metric once."""
    families = list(text_string_to_metric_families(HTTP.get(running.address("metrics")).text))
    assert max(Counter(family.name for family in families).values()) == 1
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def create(running: Running) -> None:
    """Creates a table, over a connection of its own."""
    assert HTTP.post(f"{running.rest}/v1/games", json={"seatCount": 2}).status_code == 200


def test_workers_share_the_ports_and_their_metrics_add_up(redis_url: str) -> None:
    """Connections are spread over the workers, and the metrics show what all of them do and are."""
    with server(*TWO, RUMMYD_REDIS_URL=redis_url) as running:
        for _ in range(40):
            create(running)
        assert sample(running, "rummyd_calls_total", front="rest", code="OK") == 40
        assert sample(running, "rummyd_ready") == 1
        for worker in ("0", "1"):
            assert sample(running, "process_resident_memory_bytes", worker=worker) > 1e6
        left = children(running.process)
        assert len(left) == 2
        status, errors = running.end()
        wait_until_gone(left)
    assert status == 0
    entries = [json.loads(line) for line in errors.splitlines()]
    served = {entry["instance"].rpartition("/")[2] for entry in entries if entry["event"] == "call"}
    assert served == {"0", "1"}
    assert [entry["event"] for entry in entries].count("stopped") == 2


def test_a_worker_that_ends_is_replaced(redis_url: str) -> None:
    """When a worker is killed another takes its place, what it counted remains, and the log tells of it."""
    with server(*TWO, RUMMYD_REDIS_URL=redis_url) as running:
        for _ in range(20):
            create(running)
        before = children(running.process)
        os.kill(before[0], signal.SIGKILL)
        deadline = time.monotonic() + LONGEST
        while not set(children(running.process)) - set(before) or not sample(running, "rummyd_worker_restarts_total"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        create(running)
        assert sample(running, "rummyd_calls_total", code="OK") == 21
        status, errors = running.end()
    assert status == 0
    entries = [json.loads(line) for line in errors.splitlines()]
    (ended,) = [entry for entry in entries if entry["event"] == "worker_ended"]
    assert (ended["pid"], ended["status"]) == (before[0], -signal.SIGKILL)


def test_a_worker_that_hangs_is_replaced(redis_url: str) -> None:
    """When a worker stands still it is killed and replaced; the metrics count it, and the log tells of it."""
    with server(*TWO, "--worker-silence-seconds", "10", RUMMYD_REDIS_URL=redis_url) as running:
        before = children(running.process)
        os.kill(before[0], signal.SIGSTOP)
        wait_until_gone(before[:1])
        deadline = time.monotonic() + LONGEST
        while len(children(running.process)) < 2 or not sample(running, "rummyd_worker_restarts_total"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        status, errors = running.end()
    assert status == 0
    entries = [json.loads(line) for line in errors.splitlines()]
    told = [entry["event"] for entry in entries if entry.get("pid") == before[0]]
    assert told == ["worker_hangs", "worker_ended"]


def test_workers_do_not_outlive_their_keeper(redis_url: str) -> None:
    """When the process that keeps them is killed they stop as if told to, and free the ports."""
    with server(*TWO, RUMMYD_REDIS_URL=redis_url) as running:
        left = children(running.process)
        running.process.kill()
        wait_until_gone(left)
        with socket.create_server(("127.0.0.1", int(running.rest.rpartition(":")[2]))):
            pass


def test_they_do_not_outlive_an_embedded_redis() -> None:
    """The workers share one embedded Redis; when it has ended they cannot be replaced: all ends, with 1."""
    with server(*THROW_AWAY, "--workers", "2", "--log-format", "json") as running:
        create(running)
        left = children(running.process)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        _, errors = running.process.communicate()
        wait_until_gone(left)
    assert running.process.returncode == 1
    assert "the embedded Redis has ended" in errors


def test_a_port_in_use_is_one_line(redis_url: str) -> None:
    """Where another program has a port already nothing is shared with it: the start fails, and says which it is."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        status, _, errors = outcome(
            "--workers", "2", "--grpc-port", "0", "--rest-port", port, RUMMYD_REDIS_URL=redis_url
        )
    assert status == 1
    assert errors.startswith(f"rummyd: REST cannot listen on 127.0.0.1:{port}")


def test_what_no_worker_can_start_with_ends_all() -> None:
    """Where no Redis answers the start fails with 1, and leaves nothing behind."""
    status, _, errors = outcome(*TWO, RUMMYD_REDIS_URL="redis://127.0.0.1:1")
    assert status == 1
    assert "no Redis answers at redis://127.0.0.1:1" in errors
    assert errors.rstrip().endswith("rummyd: a worker did not start; its log says why")
