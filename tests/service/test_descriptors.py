import resource

import pytest

from service import descriptors

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "asked"),
    [
        (1024, 4096, 4096),
        (1024, 10**9, 65_536),
        (1024, UNLIMITED, 65_536),
        (300, 300, None),
        (100_000, 10**9, None),
        (UNLIMITED, UNLIMITED, None),
    ],
)
def test_a_program_takes_as_many_descriptors_as_are_enough(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, asked: int | None
) -> None:
    """A program raises its limit to what the system allows, up to 65,536, and never lowers it."""
    taken: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: taken.append(new))
    descriptors.raise_limit()
    assert taken == ([] if asked is None else [(asked, hard)])


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_limit_that_cannot_be_raised_is_left(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """Where the kernel allows less than the system says, a program goes on with what it has."""

    def refuse(_: int, new: tuple[int, int]) -> None:
        raise error

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, UNLIMITED))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    descriptors.raise_limit()
    assert descriptors.limit() == 256
