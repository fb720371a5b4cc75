"""A real Prometheus, with the configuration of the compose file, beside real servers at which people play."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests import servers
from tests.conftest import Lacking
from tests.deploy.test_monitoring import shown
from tests.e2e.clients import Failure
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import DRAW, game_of, sit_down, watching

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
QUIET = {"rummyd_worker_restarts_total"}
"""What there is nothing of where no server has several workers."""
MEASURING = {
    "RummydBusy",
    "RummydDeliveryDelay",
    "RummydDueLag",
    "RummydRedisSlow",
    "RummydSlownessFast",
    "RummydSlownessSlow",
}
"""Alerts that measure the machine, too: on a busy one they may be pending, though none fires in so short a time."""


@pytest.fixture
def prometheus(lacking: Lacking) -> str:
    """The program, which a machine has or has not."""
    return shutil.which("prometheus") or lacking(
        "no prometheus is here: rules and dashboard were not tried on a real one"
    )


@contextmanager
def scraping(program: str, folder: Path, targets: list[str]) -> Iterator[httpx.Client]:
    """A client of a Prometheus that scrapes these, every second, and evaluates the rules as often."""
    configuration = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(FOLDER / name) for name in configuration["rule_files"]]
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": targets}]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    (port,) = servers.free_ports(1)
    flags = {
        "config.file": folder / "prometheus.yaml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "log.level": "error",
    }
    command = [program, *(f"--{name}={value}" for name, value in flags.items())]
    with (
        subprocess.Popen(command) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1/", timeout=LONGEST_S) as api,
    ):
        try:
            yield api
        finally:
            process.terminate()


def asked(api: httpx.Client, path: str, **query: str) -> object:
    """The data of an answer, or None where it does not answer yet."""
    try:
        response = api.get(path, params=query)
    except httpx.TransportError:
        return None
    body = response.json() if response.headers.get("content-type", "").startswith("application/json") else {}
    assert response.status_code == 503 or body.get("status") == "success", f"{query}: {response.text}"
    return body.get("data")


async def until_none(left: Callable[[], list[str]], meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Does something again and again, until nothing is left."""
    deadline = time.monotonic() + LONGEST_S
    while remaining := await asyncio.to_thread(left):
        assert time.monotonic() < deadline, remaining
        await meanwhile()
        await asyncio.sleep(0.2)


async def test_what_happens_is_seen(prometheus: str, tmp_path: Path, redis_url: str) -> None:
    """Every graph of the dashboard shows something of a match, every rule can be evaluated, and no alert goes off."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(Rummyd(tmp_path, "--bot-think-ms", "50", redis_url=redis_url))
        address = server.metrics.removeprefix("http://").removesuffix("/metrics")
        api = stack.enter_context(scraping(prometheus, tmp_path, [address]))
        match = await sit_down(stack, server, game_of(2, deals=9), ["grpc", "rest"])
        await stack.enter_async_context(watching(match.players[0], match.name))

        async def goes_on() -> None:
            await match.play(4)
            with pytest.raises(Failure):
                await match.players[0].act(match.name, [DRAW], expected_version=1)

        def unseen() -> list[str]:
            return [
                f"{title}: {expression}"
                for title, expression in shown()
                if not any(name in expression for name in QUIET)
                if not has_values(api, expression)
            ]

        await until_none(unseen, goes_on)
        found = asked(api, "rules")
    assert isinstance(found, dict)
    judged = [rule for group in found["groups"] for rule in group["rules"]]
    assert len(judged) > 15
    assert [rule["name"] for rule in judged if rule["health"] == "err"] == []
    states = {rule["name"]: rule["state"] for rule in judged if rule.get("state", "inactive") != "inactive"}
    assert states.keys() <= MEASURING
    assert "firing" not in states.values()


def has_values(api: httpx.Client, expression: str) -> bool:
    """Whether Prometheus has something for an expression of the dashboard."""
    plain = re.sub(r"\$(job|namespace|instance)", ".*", expression.replace("$__rate_interval", "10s"))
    found = asked(api, "query", query=plain)
    return isinstance(found, dict) and bool(found["result"])
