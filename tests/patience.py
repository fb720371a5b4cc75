"""Stores and clients that wait: to a machine that stands still for some seconds nothing here is lost.

The limits of the product are for tests of a Redis that is away or silent, and for them alone.
"""

from typing import Final

from msgspec.structs import replace

from service.store.feed import FeedLimits
from service.store.link import Limits
from service.store.store import Options

LONGEST_S: Final = 60.0
PATIENT_SERVER: Final = {"RUMMYD_REDIS_TIMEOUT_SECONDS": "30"}
"""The variables of a patient server. Flags that a test gives it have precedence."""


def patient(options: Options | None = None) -> Options:
    """These options, and patience wherever they ask for none of their own."""
    options = options or Options()
    link, feed = options.link, options.feed
    if (link.connect_s, link.call_s) == (Limits().connect_s, Limits().call_s):
        link = replace(link, connect_s=LONGEST_S, call_s=LONGEST_S)
    if feed.subscribe_s == FeedLimits().subscribe_s:
        feed = replace(feed, subscribe_s=LONGEST_S)
    return replace(options, link=link, feed=feed)
