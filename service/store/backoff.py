"""What tasks that try again and again share: pauses that grow, and the end that they are told of."""

import asyncio
import random

__all__ = ["Backoff", "cancelled"]


class Backoff:
    """Growing, jittered pauses between attempts: from about `least` to about `most` seconds."""

    def __init__(self, least: float = 0.05, most: float = 2.0) -> None:
        self._least = least
        self._most = most
        self._next = least

    async def pause(self) -> None:
        """Waits for the next pause to pass."""
        pause, self._next = self._next, min(self._next * 2, self._most)
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - it spreads load, and guards nothing

    def reset(self) -> None:
        """An attempt has succeeded."""
        self._next = self._least


def cancelled() -> bool:
    """Whether this task was told to end. In Python 3.11 `wait_for`, which redis-py calls, may swallow the telling."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
