"""How many files and connections this process may have open: each takes a descriptor.

raise_limit()     once, when a program begins; the processes that it starts may have as many
limit()           how many there may be
"""

import contextlib
import resource
from typing import Final

__all__ = ["limit", "raise_limit"]

_ENOUGH: Final = 65_536
"""Of no more a program asks the system for."""


def raise_limit() -> None:
    """Takes as many as the system lets this process have, up to 65,536: many systems start with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # there are systems whose kernel allows less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """How many this process may have; where the system sets no limit, as many as are enough."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH if soft == resource.RLIM_INFINITY else soft
