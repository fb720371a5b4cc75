"""When acts of this process were due, until its streams have told of them.

due = Due()
due.sent("games/x", 7, since, token)           version 7 is to be made by an act of this seat, due at `since`
due.told("games/x", 7, token, begun, at)       it came by a stream of somebody's, asked for at `begun`
due.made("games/x", 7)                         the act was answered; or `lost`: it was not, and 7 is another's
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Due"]

_MOST: Final = 10_000
"""Acts that are remembered; of those before, no news is waited for any more."""


@dataclass(slots=True)
class _Act:
    since: float
    token: str
    made: bool = False
    heard: list[float] = field(default_factory=list)
    """When others heard of the version, until it is known to be this act's."""


class Due:
    """Of each act and each stream of another seat or a spectator `tell` gets the seconds from one to the other.

    What was due before a stream was asked for is no news to it. All times are of one clock.
    """

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._acts: dict[tuple[str, int], _Act] = {}

    def sent(self, table: str, version: int, since: float, token: str) -> None:
        """An act goes out that is to make this version."""
        self._acts[table, version] = _Act(since, token)
        if len(self._acts) > _MOST:
            del self._acts[next(iter(self._acts))]

    def lost(self, table: str, version: int) -> None:
        """It did not: the version is another's."""
        self._acts.pop((table, version), None)

    def made(self, table: str, version: int) -> None:
        """It did."""
        if act := self._acts.get((table, version)):
            act.made = True
            for at in act.heard:
                self._tell(at - act.since)

    def told(self, table: str, version: int, token: str, begun: float, at: float) -> None:
        """A stream of this seat's, or of a spectator's without a token, has told of the version."""
        act = self._acts.get((table, version))
        if act is None or act.token == token or act.since < begun:
            return
        if act.made:
            self._tell(at - act.since)
        else:
            act.heard.append(at)
