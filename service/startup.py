"""What a server and the keeper of several need alike before they serve: a Redis, and ports to listen on."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from service.embedded import EmbeddedRedis, EmbeddedRedisError
from service.settings import LOCAL_REDIS, Settings

__all__ = ["StartError", "listening", "public", "redis_of"]


class StartError(Exception):
    """The server cannot start. The text says why, in one line."""


async def redis_of(settings: Settings, stack: AsyncExitStack) -> tuple[str, str, EmbeddedRedis | None]:
    """The Redis to use: its URL, what to say of it, and the embedded server, until the stack's end, where it is that.

    Raises StartError.
    """
    if settings.redis_url or not settings.embedded:
        url = settings.redis_url or LOCAL_REDIS
        return url, f"in the Redis at {public(url)}", None
    embedded = EmbeddedRedis(None if settings.throw_away else Path(settings.data_dir))
    try:
        await asyncio.to_thread(embedded.start)
    except EmbeddedRedisError as error:
        raise StartError(str(error)) from error
    stack.push_async_callback(asyncio.to_thread, embedded.close)
    kept = f"in {embedded.data} (embedded Redis)" if embedded.data else "nowhere: the embedded Redis keeps nothing"
    return embedded.url, kept, embedded


@contextmanager
def listening(what: str, host: str, port: int) -> Iterator[None]:
    """Turns the failure to listen into a line that names the port, and the setting that gives another."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        text = f"{what} cannot listen on {host}:{port}: {why.lower()} (--{what.lower()}-port gives another port)"
        raise StartError(text) from error


def public(url: str) -> str:
    """A Redis URL without its user, password and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
