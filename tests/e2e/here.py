"""A server in the test's own process, whose parts a test can replace before it starts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from service.server import running
from service.settings import read
from tests.patience import PATIENT_SERVER


@dataclass
class Here:
    """Where it listens: `grpc` is HOST:PORT, `rest` a URL."""

    grpc: str
    rest: str


@asynccontextmanager
async def served(redis_url: str) -> AsyncIterator[Here]:
    """A server meanwhile, on free ports."""
    flags = ["--grace-seconds=0", *(f"--{front}-port=0" for front in ("grpc", "rest", "metrics"))]
    async with running(read(["--redis-url", redis_url, *flags], PATIENT_SERVER)) as server:
        at = server.addresses
        yield Here(f"{at.grpc[0]}:{at.grpc[1]}", f"http://{at.rest[0]}:{at.rest[1]}")
