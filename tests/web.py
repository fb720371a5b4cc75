"""Plain calls over HTTP, each on a connection of its own. They wait for a machine that stalls for some seconds."""

from typing import Final

import httpx

from tests.patience import LONGEST_S

HTTP: Final = httpx.Client(timeout=LONGEST_S, limits=httpx.Limits(max_keepalive_connections=0))
