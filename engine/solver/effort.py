"""How much work an arrangement is worth: counted, so that the same hand is arranged in the same way on any machine."""

from typing import Final

__all__ = ["Effort"]

_UNBOUNDED: Final = 1 << 62


class Effort:
    """Steps that may yet be done, some millions a second. Whoever does some says so, and ends soon after the last.

    effort = Effort(100_000)
    best(rules, hand, effort=effort.part(3))    a third of what is left, which then is gone from the whole
    """

    def __init__(self, steps: int = _UNBOUNDED) -> None:
        self._done = [0]  # of a part it is that of the whole
        self._most = steps

    def spend(self, steps: int) -> bool:
        """Count steps; whether any are left."""
        self._done[0] += steps
        return self._done[0] < self._most

    @property
    def left(self) -> int:
        """Steps that may yet be done; less than none where more than that were."""
        return self._most - self._done[0]

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def part(self, parts: int) -> "Effort":
        """One of so many equal parts of what is left: what is spent of it is spent of the whole."""
        part = Effort(self._done[0] + self.left // parts)
        part._done = self._done
        return part
