"""When the service could not answer: that time counts against no player.

What is known of it comes from the looks at what is due (`service.clock`): the store tells of each outage that a look
has ended, and while this process cannot look, nobody knows of one better.
"""

from service.store.due import SILENCE_MS
from service.store.keys import shard_of

__all__ = ["Outages"]


class Outages:
    """The outages that this process knows of, by shard. Times are ms since 1970."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[int, int], ...]] = {}
        self._looked: dict[int, int] = {}

    def put(self, shard: int, outages: tuple[tuple[int, int], ...], now_ms: int) -> None:
        """What a look at a shard has found."""
        self._known[shard] = outages
        self._looked[shard] = now_ms

    def within(self, game: str, start_ms: int, end_ms: int) -> int:
        """For how many ms of this time, which ends now, the game could not be reached."""
        shard = shard_of(game)
        spans = self._known.get(shard, ())
        looked = self._looked.get(shard, end_ms)
        if end_ms - looked > SILENCE_MS:
            spans = (*spans, (looked, end_ms))
        return sum(max(0, min(end, end_ms) - max(start, start_ms)) for start, end in spans)
