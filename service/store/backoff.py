"""What tasks that try again and again share: pauses that grow, and the end that they are told of."""

import asyncio
import random

__all__ = ["Backoff", "cancelled"]


class Backoff:
    """Growing, jittered pauses between attempts: from about `least_s` to about `most_s` seconds."""

    def __init__(self, least_s: float = 0.05, most_s: float = 2.0) -> None:
        self._least_s = least_s
        self._most_s = most_s
        self._next_s = least_s

    async def pause(self) -> None:
        """Waits for the next pause to pass."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, self._most_s)
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - it spreads load, and guards nothing

    def reset(self) -> None:
        """An attempt has succeeded."""
        self._next_s = self._least_s


def cancelled() -> bool:
    """Whether this task was told to end. In Python 3.11 `wait_for`, which redis-py calls, may swallow the telling."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
