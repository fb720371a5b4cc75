"""The CPU time of what a crowd does."""

from collections.abc import Callable

from bench.load.meters import Reading
from load.cpu import Cpu


def readings(*moments: tuple[float, float, float, float]) -> Callable[[], Reading]:
    """What meters tell, one after the other: the time, the server's and Redis's CPU time, and acts."""
    told = iter([Reading(at, 0, server, 0, acts, 0, 0, 0, 0, redis, 0, 0, 0) for at, server, redis, acts in moments])
    return lambda: next(told)


def test_what_both_take_idle_and_for_the_stop_is_left_out() -> None:
    """Of what was used until the stop the share is taken off that was used before the crowd came."""
    cpu = Cpu(readings((0, 1.0, 1.0, 0), (2, 1.1, 1.02, 0), (12, 3.6, 1.32, 1000)), idle_s=0)
    cpu.stop()
    cpu.stop()  # what is read later is not asked for
    assert cpu.told() == (
        "CPU per act, with the joins, looks and streams that go with it: server 2,000 µs, Redis 200 µs (1,000 acts);"
        " idle: server 5.0%, Redis 1.0%"
    )


def test_nothing_is_told_of_whom_nobody_asked() -> None:
    """A Redis that is not known is left out, and without an act, or a last reading, nothing is said."""
    cpu = Cpu(readings((0, 1.0, 0, 0), (2, 1.1, 0, 0), (12, 3.6, 0, 1000)), idle_s=0)
    assert cpu.told() == ""
    cpu.stop()
    assert "Redis" not in cpu.told()
    idle = Cpu(readings((0, 1.0, 0, 0), (2, 1.1, 0, 0), (12, 3.6, 0, 0)), idle_s=0)
    idle.stop()
    assert idle.told() == ""
