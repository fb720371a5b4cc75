"""How often, and how much at once."""

import random
from collections import deque
from dataclasses import dataclass

import pytest

from service.api.buckets import Rate, Room


@dataclass
class Clock:
    """A clock that a test moves, in seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_at_once_and_then_so_many_a_second() -> None:
    """A full bucket gives its burst at once; then each token is waited for, and told how long."""
    clock = Clock()
    rate = Rate(4, 3, now=clock)
    assert [rate.take("ann") for _ in range(3)] == [0, 0, 0]
    assert rate.take("ann") == rate.wait("ann") == 0.25
    clock.now += 0.25
    assert (rate.wait("ann"), rate.take("ann"), rate.take("ann")) == (0, 0, 0.25)
    clock.now += 60
    assert [rate.take("ann") for _ in range(4)] == [0, 0, 0, 0.25]


def test_each_has_a_bucket_of_its_own() -> None:
    """What one takes leaves the others theirs."""
    rate = Rate(1, 1, now=Clock())
    assert [rate.take("ann"), rate.take("bob"), rate.take("ann")] == [0, 0, 1]


def test_to_look_takes_nothing() -> None:
    """Asking how long to wait changes no bucket."""
    rate = Rate(1, 1, now=Clock())
    assert [rate.wait("ann") for _ in range(3)] == [0, 0, 0]
    assert rate.take("ann") == 0


def test_who_is_refused_waits_no_longer_for_asking_again() -> None:
    """Refusals cost nothing: the wait only shrinks with time."""
    clock = Clock()
    rate = Rate(1, 1, now=clock)
    rate.take("ann")
    for _ in range(10):
        assert rate.take("ann") == pytest.approx(1001 - clock.now)
        clock.now += 0.09
    clock.now = 1001
    assert rate.take("ann") == 0


@pytest.mark.parametrize(("per_second", "burst"), [(1, 1), (5, 1), (2, 10), (0.1, 3), (1000, 7)])
def test_no_window_has_more_than_its_share(per_second: float, burst: int) -> None:
    """However the calls fall, a stretch of t seconds holds at most the burst and t times the rate; and no less."""
    clock, chance = Clock(), random.Random(1)  # noqa: S311  the same in every run
    rate, taken = Rate(per_second, burst, now=clock), deque[float]()
    for _ in range(3000):
        clock.now += chance.choice([0, 0, 0.5, 3, burst]) / per_second
        wait = rate.take("ann")
        if not wait:
            taken.append(clock.now)
        clock.now += wait
        if wait:
            assert rate.take("ann") == pytest.approx(0)
            taken.append(clock.now)
    for first, start in enumerate(taken):
        for after in (0.0, 1 / per_second, 7.5 / per_second):
            held = sum(start <= time <= start + after for time in list(taken)[first : first + burst + 20])
            assert held <= burst + after * per_second + 1e-6 + 1e-3 * (after > 0)


def test_no_rate_is_no_limit() -> None:
    """A rate of 0 refuses nobody, and remembers nobody."""
    rate = Rate(0, 0, now=Clock())
    assert {rate.take("ann") for _ in range(100)} == {0.0}
    assert rate.wait("ann") == 0
    assert not rate._full_at


def test_what_was_taken_for_nothing_is_put_back() -> None:
    """A token that is given back can be taken again; who took none, or is forgotten, has a full bucket as before."""
    rate = Rate(1, 2, now=Clock())
    rate.give_back("ann")
    for _ in range(3):
        assert rate.take("ann") == 0
        rate.give_back("ann")
    assert [rate.take("ann") for _ in range(3)] == [0, 0, 1]


def test_memory_is_bounded() -> None:
    """Of more callers than are kept those seen longest ago are forgotten, and never one who goes on asking."""
    rate = Rate(0.001, 1, now=Clock(), most=3)
    rate.take("ann")
    for name in map(str, range(50)):
        assert rate.take(name) == 0
        assert rate.take("ann") > 0
    assert len(rate._full_at) == 3
    assert rate.take("0") == 0


def test_room_is_given_back() -> None:
    """Who holds as much as there is room for is refused, until he has given something back."""
    room = Room(2)
    assert [room.enter("ann"), room.enter("ann"), room.enter("ann"), room.enter("bob")] == [True, True, False, True]
    room.leave("ann")
    assert [room.enter("ann"), room.enter("ann")] == [True, False]
    for name in ("ann", "ann", "bob"):
        room.leave(name)
    assert len(room) == 0


def test_no_bound_is_no_limit() -> None:
    """A room of 0 has no bound, and forgets who has left all the same."""
    room = Room(0)
    assert all(room.enter("ann") for _ in range(100))
    for _ in range(100):
        room.leave("ann")
    assert len(room) == 0
