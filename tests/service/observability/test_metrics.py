"""The metrics and the port that shows them."""

import asyncio
import socket

import pytest
from prometheus_client import REGISTRY

from service.observability import metrics
from tests.web import HTTP


def _value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_port_shows_them_and_is_free_afterwards() -> None:
    """Any free port will do; `/metrics` there has every metric with its help; after the stop nobody listens."""
    server = metrics.MetricsServer.start("127.0.0.1", 0)
    metrics.describe("1.2.3")
    text = await asyncio.to_thread(_get, f"http://127.0.0.1:{server.port}/metrics")
    assert "rummyd_build_info{" in text
    assert 'version="1.2.3"' in text
    for name in ("calls_total", "call_duration_seconds", "open_streams", "acts_total", "events_delivered_total"):
        assert f"# HELP rummyd_{name} " in text
    await server.stop()
    with socket.create_server(("127.0.0.1", server.port)):
        pass


@pytest.mark.parametrize("sent", [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nhost: x\r\n"])
async def test_who_asks_nothing_is_hung_up_on(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client that sends no request, or half of one, holds its thread for so long, and leaves no trace of it."""
    monkeypatch.setattr(metrics, "_PATIENCE_S", 0.2)
    server = metrics.MetricsServer.start("127.0.0.1", 0)
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()
    await server.stop()
    assert capfd.readouterr().err == ""


async def test_port_in_use_is_an_error() -> None:
    """A port that another listens on is refused."""
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        metrics.MetricsServer.start("127.0.0.1", other.getsockname()[1])


def test_store_call_is_timed_and_its_error_counted() -> None:
    """An operation of the store is timed whatever becomes of it, and counted as an error when it raises."""
    timed, failed = "rummyd_store_duration_seconds_count", "rummyd_store_errors_total"
    before = _value(timed, operation="test"), _value(failed, operation="test")
    with metrics.store_call("test"):
        pass
    with pytest.raises(KeyError), metrics.store_call("test"):
        raise KeyError
    with pytest.raises(asyncio.CancelledError), metrics.store_call("test"):
        raise asyncio.CancelledError
    with metrics.store_call("another"):
        assert REGISTRY.get_sample_value(failed, {"operation": "another"}) == 0, "shown before it fails"
    assert _value(timed, operation="test") == before[0] + 3
    assert _value(failed, operation="test") == before[1] + 1


def _get(url: str) -> str:
    return HTTP.get(url).text
