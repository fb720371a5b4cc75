"""The image: what deploy/Dockerfile makes, built in a clean folder and started as nobody in particular."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from service.embedded import EmbeddedRedis
from tests import servers
from tests.conftest import Lacking
from tests.deploy.image import NOBODY, Image, build, context_files

LONGEST_S = 60.0


@pytest.fixture(scope="module")
def image(lacking: Lacking) -> Iterator[Image]:
    """The image, built once for this module. Nobody but root may write into it."""
    python = _python() or lacking("no Python here can be run by an unprivileged user: the image was not built")
    if not _packages():
        lacking("no package index answers: the image was not built")
    with tempfile.TemporaryDirectory(prefix="rummyd-image-") as folder:
        Path(folder).chmod(0o755)
        image = build(Path(folder), python)
        image.run(f"chmod -R a-w {image.root}")
        yield image
        image.run(f"chmod -R u+w {image.root}")


@contextmanager
def started(image: Image, url: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A container's process that takes calls, and its variables."""
    grpc, rest, metrics = map(str, servers.free_ports(3))
    variables = {
        "RUMMYD_GRPC_PORT": grpc,
        "RUMMYD_REST_PORT": rest,
        "RUMMYD_METRICS_PORT": metrics,
        "RUMMYD_REDIS_URL": url,
        **more,
    }
    with image.start(**variables) as process:
        try:
            deadline = time.monotonic() + LONGEST_S
            while image.healthy(**variables)[0]:
                if process.poll() is not None or time.monotonic() > deadline:
                    process.kill()
                    raise AssertionError(f"it did not start: {process.communicate()[0]}")
            yield process, variables
        finally:
            process.kill()


@contextmanager
def a_redis() -> Iterator[tuple[EmbeddedRedis, str]]:
    """A Redis that is reached over the network, as from a container."""
    (port,) = servers.free_ports(1)
    with EmbeddedRedis(options=["--port", str(port), "--bind", "127.0.0.1"]) as redis:
        yield redis, f"redis://127.0.0.1:{port}"


def test_the_image_takes_calls_and_stops_cleanly(image: Image) -> None:
    """The entry point, with the image's variables alone, starts a server that plays, and ends with 0 when told to."""
    with a_redis() as (_, url), started(image, url) as (process, variables):
        with httpx.Client(base_url=f"http://127.0.0.1:{variables['RUMMYD_REST_PORT']}/v1/", timeout=LONGEST_S) as api:
            assert _one_act(api) == 4
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 0, said


def test_the_health_check_follows_readiness(image: Image) -> None:
    """The health check ends with 0 while the server is ready, and with 1 and the reason while its Redis is away."""
    with a_redis() as (redis, url), started(image, url, RUMMYD_REDIS_TIMEOUT_SECONDS="5") as (_, variables):
        assert image.healthy(**variables) == (0, "")
        redis.kill()
        deadline = time.monotonic() + LONGEST_S
        while (found := image.healthy(**variables))[0] == 0 and time.monotonic() < deadline:
            continue
        assert found[0] == 1
        assert found[1] == "not ready: 503 Service Unavailable\n"


def test_the_image_runs_as_nobody(image: Image) -> None:
    """The server is no privileged user's process, and can write nowhere into its image."""
    if os.getuid():
        pytest.skip("only root can start a process as somebody else")
    with a_redis() as (_, url), started(image, url) as (process, _):
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert f"Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}\t{NOBODY}" in status
        assert image.run(f"find {image.root} -writable ! -type l") == ""


def test_the_image_has_only_what_it_runs_on(image: Image) -> None:
    """Neither sources nor tests nor tools to install more are in the image, and every module of the service is."""
    installed = {path.name for path in image.root.glob("opt/rummyd/lib/python*/site-packages/*")}
    assert {"service", "engine", "rummy", "redis", "grpc"} <= installed
    assert not {"pip", "setuptools", "tests", "tools", "bench"} & installed
    assert {path.name for path in image.root.iterdir()} == {"opt"}


def test_nothing_private_reaches_the_builder() -> None:
    """The builder is sent sources and locks, and nothing of tests, data or git."""
    sent = {Path(path).parts[0] for path in context_files()}
    assert sent == {
        "LICENSE",
        "README.md",
        "clients",
        "deploy",
        "engine",
        "proto",
        "pyproject.toml",
        "requirements.lock",
        "service",
    }


def _one_act(api: httpx.Client) -> int:
    """The version of a new table once its two seats are taken and the first act is done."""
    game = api.post("games", json={"seatCount": 2}).raise_for_status().json()["name"]
    seats = [api.post(f"{game}:join", json={"displayName": name}).raise_for_status().json() for name in ("Ada", "Ben")]
    token = {"authorization": f"Bearer {seats[seats[1]['game']['view']['turn']]['token']}"}
    legal = api.get(f"{game}:legalActions", headers=token).raise_for_status().json()["actions"]
    acted = api.post(f"{game}:act", headers=token, json={"actions": legal[:1]}).raise_for_status().json()
    version = acted["version"]
    assert isinstance(version, int)
    return version


@functools.cache
def _python() -> str | None:
    """A Python that whoever the steps are done as may run, and that can make environments."""
    if os.getuid():
        return sys.executable
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        if Path(python).exists() and _reachable(Path(python)) and _makes_environments(python):
            return python
    return None


def _reachable(python: Path) -> bool:
    """Whether everybody may enter the folders above it, wherever its links lead."""
    return all(folder.stat().st_mode & 0o001 for end in (python, python.resolve()) for folder in end.parents)


def _makes_environments(python: str) -> bool:
    check = [python, "-c", "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(check, user=NOBODY, group=NOBODY, cwd="/", capture_output=True, check=False).returncode == 0


def _packages() -> bool:
    """Whether pip can get a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "structlog"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
