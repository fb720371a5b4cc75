"""A live server for the tests of what it is described as."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.live import Rummyd
from tests.web import HTTP


@pytest.fixture(scope="session")
def rummyd(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rummyd]:
    """A server that all tests share."""
    with Rummyd(tmp_path_factory.mktemp("rummyd"), redis_url=redis_url) as server:
        yield server


@pytest.fixture(scope="session")
def document(rummyd: Rummyd) -> dict[str, Any]:
    """The description that the server gives of itself."""
    described: dict[str, Any] = HTTP.get(f"{rummyd.rest}/openapi.json").json()
    return described
