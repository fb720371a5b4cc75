"""What every use case works with: the store, the clock and chance, as values that tests can replace."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.replay import Replay
from service.games.last_seen import LastSeen
from service.games.listings import Listings
from service.games.outages import Outages
from service.games.queues import Queues
from service.recent import Recent
from service.store.store import Store

__all__ = ["Desk"]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Desk:
    """The dependencies of the use cases. One a process."""

    store: Store
    now_ms: Callable[[], int] = _now_ms
    """Ms since 1970."""
    chance: Callable[[int], bytes] = secrets.token_bytes
    """So many random bytes that nobody can predict: seeds, secrets, ids."""
    think_ms: int = 1000
    """How long a bot thinks on average before it draws, and before it plays."""
    last_seen: LastSeen = field(default_factory=LastSeen)
    listings: Listings = field(default_factory=Listings)
    queues: Queues = field(default_factory=Queues)
    outages: Outages = field(default_factory=Outages)
    replays: Recent[str, Replay] = field(default_factory=lambda: Recent(64))
    """Those asked for last, so that asking again and again costs a match played again only once."""
    replaying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One replay is made at a time, so that they take no more than a part of one core."""
