"""The health check of the image, beside servers of each kind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import servers
from tests.certificates import Authority
from tests.e2e.live import Rummyd

CHECK = Path(__file__).parents[2] / "deploy" / "healthcheck.py"


def healthy(variables: dict[str, str]) -> tuple[int, str]:
    """Its exit status, and what it says."""
    done = subprocess.run(
        [sys.executable, CHECK], env=os.environ | variables, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("how", ["plain", "tls", "mutual"])
def test_a_ready_server_is_healthy(tmp_path: Path, redis_url: str, how: str) -> None:
    """The check finds a ready server by the server's own variables, without TLS, with it, and where clients need it."""
    authority = Authority(tmp_path, "authority")
    certificate, key = map(str, authority.sign("server"))
    tls = {"RUMMYD_TLS_CERTIFICATE": certificate, "RUMMYD_TLS_KEY": key} if how != "plain" else {}
    if how == "mutual":
        tls["RUMMYD_TLS_CLIENT_CA"] = str(authority.certificate)
    with Rummyd(tmp_path, redis_url=redis_url, **tls) as server:
        assert healthy({**tls, "RUMMYD_REST_PORT": server.rest.rpartition(":")[2]}) == (0, "")


def test_no_server_is_not_healthy() -> None:
    """Where nothing listens the check ends with 1 and one line that says why."""
    (port,) = servers.free_ports(1)
    status, said = healthy({"RUMMYD_REST_PORT": str(port)})
    assert status == 1
    assert said.startswith("not ready: ")
    assert said.count("\n") == 1
