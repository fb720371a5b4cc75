"""Whether the client is still there: what goes on only for its sake ends with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive

__all__ = ["until_gone"]


@asynccontextmanager
async def until_gone(receive: Receive) -> AsyncIterator[None]:
    """Cancels the block as soon as the client goes away, and goes on after it."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("an answer is served by a task")
    before, gone = task.cancelling(), False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not gone or task.uncancel() > before:
            raise
    finally:
        watcher.cancel()
