"""The one place that knows Redis: tables, their histories, and the feed of what is committed.

`store` is the way in; `keys` says where everything lies, `commit.lua` what a commit is, `feed` how watchers hear of it.
"""

from service.store.errors import (
    BadAddress,
    BadCursor,
    BadRecord,
    FellBehind,
    GameGone,
    HistoryLost,
    NewerTable,
    ServerTooOld,
    StoreError,
    StoreUnavailable,
    WatchEnded,
)
from service.store.feed import Feed, FeedLimits, FeedLoad
from service.store.history import History
from service.store.link import Limits
from service.store.listing import Page
from service.store.outcome import (
    Answered,
    Chosen,
    CodeTaken,
    Committed,
    Conflict,
    Created,
    Exists,
    Gone,
    Loaded,
    Request,
)
from service.store.store import Options, Store
from service.store.table import (
    Batch,
    MatchAbandoned,
    MatchStarted,
    Phase,
    Seat,
    SeatAway,
    SeatJoined,
    SeatLeft,
    SeatReturned,
    Table,
    TableEvent,
    TurnClock,
    TurnExtended,
    TurnLimit,
    TurnTimedOut,
)
from service.store.watch import Watch

__all__ = [
    "Answered",
    "BadAddress",
    "BadCursor",
    "BadRecord",
    "Batch",
    "Chosen",
    "CodeTaken",
    "Committed",
    "Conflict",
    "Created",
    "Exists",
    "Feed",
    "FeedLimits",
    "FeedLoad",
    "FellBehind",
    "GameGone",
    "Gone",
    "History",
    "HistoryLost",
    "Limits",
    "Loaded",
    "MatchAbandoned",
    "MatchStarted",
    "NewerTable",
    "Options",
    "Page",
    "Phase",
    "Request",
    "Seat",
    "SeatAway",
    "SeatJoined",
    "SeatLeft",
    "SeatReturned",
    "ServerTooOld",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "Table",
    "TableEvent",
    "TurnClock",
    "TurnExtended",
    "TurnLimit",
    "TurnTimedOut",
    "Watch",
    "WatchEnded",
]
