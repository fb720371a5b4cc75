"""The very commands by which Docker and Kubernetes ask whether Redis is well."""

import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from service.embedded import EmbeddedRedis
from tests import servers
from tests.conftest import Lacking
from tests.deploy.test_manifests import DEPLOY, K8S, manifests


def probes() -> dict[str, list[str]]:
    """The words of each."""
    compose = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
    kind, *words = compose["services"]["redis"]["healthcheck"]["test"]
    assert kind == "CMD"
    (one,) = [document for _, document in manifests(K8S / "components" / "redis") if document["kind"] == "StatefulSet"]
    (container,) = one["spec"]["template"]["spec"]["containers"]
    found = {name: container[name]["exec"]["command"] for name in ("livenessProbe", "readinessProbe")}
    return {"compose": words, **found}


@contextmanager
def refusing() -> Iterator[int]:
    """The port of a server that answers whatever it is asked as Redis does while it loads its file."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline():
                self.wfile.write(b"-LOADING Redis is loading the dataset in memory\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def passes(words: list[str], port: int, lacking: Lacking) -> bool:
    """Whether the probe holds the server at this port for well."""
    program = (
        shutil.which(words[0])
        or shutil.which("redis-cli")
        or lacking("no redis-cli is here: the probes of Redis were not tried")
    )
    done = subprocess.run(
        [program, "-p", str(port), *words[1:]], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode == 0


@pytest.mark.parametrize("probe", list(probes()))
def test_a_redis_that_is_well_passes(probe: str, tmp_path: Path, lacking: Lacking) -> None:
    """A Redis that answers passes, and where nobody answers nothing does."""
    (port,) = servers.free_ports(1)
    assert not passes(probes()[probe], port, lacking)
    with EmbeddedRedis(tmp_path, ["--port", str(port), "--bind", "127.0.0.1"]):
        assert passes(probes()[probe], port, lacking)


@pytest.mark.parametrize(("probe", "wanted"), [("compose", False), ("readinessProbe", False), ("livenessProbe", True)])
def test_a_redis_that_loads_is_alive_and_not_ready(probe: str, wanted: bool, lacking: Lacking) -> None:
    """A Redis that answers with an error, as while it loads its file, is alive, however long that takes; not ready."""
    with refusing() as port:
        assert passes(probes()[probe], port, lacking) is wanted
