"""How often, and how much at the same time: the counters behind the limits, of this process alone.

rate = Rate(per_second=100, burst=2000)
rate.take("ann")      0.0: she may; else the seconds to wait, and nothing is taken
rate.give_back("ann") what was taken for nothing
room = Room(50)
room.enter("ann")     whether there was room; then `leave`
"""

import time
from collections.abc import Callable, Hashable
from typing import Final

from service.recent import Recent

__all__ = ["Rate", "Room"]

MOST: Final = 65_536
"""Of so many the counts are kept: of those seen last."""


class Rate:
    """A bucket of `burst` tokens for each of many, which fills by `per_second`. Where that is 0 there is no limit.

    One number is kept for each: when its bucket is full again (the generic cell rate algorithm). Of more than `most`
    those seen longest ago are forgotten, whose buckets are as good as full.
    """

    def __init__(
        self, per_second: float, burst: float, *, now: Callable[[], float] = time.monotonic, most: int = MOST
    ) -> None:
        self._each_s = 1 / per_second if per_second else 0.0
        self._spare_s = (max(burst, 1.0) - 1) * self._each_s
        self._now = now
        self._full_at = Recent[Hashable, float](most)

    def wait(self, who: Hashable) -> float:
        """Seconds until there is a token; 0: there is one. Takes none."""
        full_at = self._full_at.get(who)
        return 0.0 if full_at is None else max(0.0, full_at - self._now() - self._spare_s)

    def take(self, who: Hashable) -> float:
        """Takes a token, and gives 0; where there is none, gives the seconds until there will be one."""
        if not self._each_s:
            return 0.0
        now = self._now()
        full_at = max(self._full_at.get(who) or now, now)
        wait = full_at - now - self._spare_s
        self._full_at.put(who, full_at if wait > 0 else full_at + self._each_s)
        return max(0.0, wait)

    def give_back(self, who: Hashable) -> None:
        """Puts back a token that was taken for nothing."""
        full_at = self._full_at.get(who)
        if full_at is not None:
            self._full_at.put(who, full_at - self._each_s)


class Room:
    """How many each of many holds open at the same time, at most `most`. 0: no limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Hashable, int] = {}

    def enter(self, who: Hashable) -> bool:
        """Whether there was room for one more, which is held until `leave`."""
        held = self._open.get(who, 0)
        if self._most and held >= self._most:
            return False
        self._open[who] = held + 1
        return True

    def leave(self, who: Hashable) -> None:
        """Gives back what `enter` has taken."""
        held = self._open.pop(who) - 1
        if held:
            self._open[who] = held

    def __len__(self) -> int:
        """How many hold something open."""
        return len(self._open)
