"""When the service could not answer: that time counts against no player.

What is known of it comes from the looks at what is due (`service.clock`): the store tells of each outage that has
ended, and while no look of this process is answered, nobody knows of one better.
"""

from service.store.due import SILENCE_MS
from service.store.keys import shard_of

__all__ = ["Outages"]


class Outages:
    """The outages that this process knows of, by shard. Times are ms since 1970."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[int, int], ...]] = {}
        self._answered: dict[int, int] = {}

    def put(self, shard: int, outages: tuple[tuple[int, int], ...], answered_ms: int) -> None:
        """What a look at a shard has found, and when it was answered."""
        self._known[shard] = outages
        self._answered[shard] = answered_ms

    def within(self, game: str, start_ms: int, end_ms: int) -> int:
        """For how many ms of this time, which ends now, the game could not be reached."""
        shard = shard_of(game)
        spans = self._known.get(shard, ())
        answered = self._answered.get(shard, end_ms)
        if end_ms - answered > SILENCE_MS:
            spans = (*spans, (answered, end_ms))
        return sum(max(0, min(end, end_ms) - max(start, start_ms)) for start, end in spans)
