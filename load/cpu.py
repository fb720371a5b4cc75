"""What CPU time a server and its Redis take for what a crowd does: until it stops, and without what both take idle.

cpu = Cpu(read)     reads what has been used, twice, with a pause in between, before anybody comes
cpu.stop()          the crowd is about to go: what its going takes is not of interest
cpu.told()          in words, an act
"""

import time
from collections.abc import Callable
from typing import Final

from bench.load.meters import Reading

__all__ = ["Cpu"]

_IDLE_S: Final = 3.0
"""How long both are watched while they are idle."""


class Cpu:
    """Between two readings of `read`, of meters that may raise OSError, RedisError or ValueError."""

    def __init__(self, read: Callable[[], Reading], idle_s: float = _IDLE_S) -> None:
        self._read = read
        before = read()
        time.sleep(idle_s)
        self._begun = read()
        self._idle = self._begun - before
        self._ended: Reading | None = None

    def stop(self) -> None:
        """Reads for the last time; once it has, it does nothing."""
        self._ended = self._ended or self._read()

    def told(self) -> str:
        """What an act took; empty: there was none, or nothing is known of it."""
        if self._ended is None:
            return ""
        used, idle = self._ended - self._begun, self._idle
        both = {"server": (used.server_s, idle.server_s), "Redis": (used.redis_s, idle.redis_s)}
        known = {name: (of_all, of_idle / idle.wall_s) for name, (of_all, of_idle) in both.items() if of_all > 0}
        if not known or used.acts <= 0:
            return ""
        acts = f"{used.acts:,.0f} acts"
        each = ", ".join(
            f"{name} {1e6 * max(0.0, of_all - share * used.wall_s) / used.acts:,.0f} µs"
            for name, (of_all, share) in known.items()
        )
        still = ", ".join(f"{name} {share:.1%}" for name, (_, share) in known.items())
        return f"CPU per act, with the joins, looks and streams that go with it: {each} ({acts}); idle: {still}"
