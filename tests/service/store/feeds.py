"""What a feed holds, for tests that wait until it does."""

from typing import NamedTuple

from service.store.feed import Feed

IDLE = (0, 0, 0, 0)
"""What a feed holds that nobody watches."""


class Held(NamedTuple):
    """Games subscribed to, watches of them, lines to nodes, and tasks."""

    games: int
    watches: int
    lines: int
    tasks: int


def held(feed: Feed) -> Held:
    """What the feed holds at the moment."""
    watches = sum(len(topic.watches) for topic in feed._topics.values())
    return Held(len(feed._topics), watches, len(feed._nodes), len(feed._ending) + 2 * len(feed._nodes))
