"""The door that every call comes through: who may call at all, how often, and how much at the same time.

    door.admit(method, request, caller)          before the request is checked: the API key, the rate of the caller
    with door.inside(method, request, caller):   while it is answered: what is counted by table, and what stays open
    door.tables_of(caller)                       asked before a table is put up
    door.acted(name)                             an act was accepted at a table
    door.issued(token)                           a token that the server has just given is known to be right

A caller is a seat, by its token, where the method is a seat's; else the holder of an API key; else an address. A token
is known to be right that was given or taken here, or that the table last seen has; all others share rates by address,
or else one made up for each call would have one of its own. No token is refused for the wrong ones of others: it has
too many digits to be guessed, and may be that of a player who has just come.
What is refused here has changed nothing, and says when to come again. Bots and the clock do not come through this door.
"""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import structlog
from google.protobuf.descriptor import MethodDescriptor

from service.api.buckets import MOST, Rate, Room
from service.api.callers import Caller
from service.api.errors import ApiError
from service.api.keys import ApiKeys
from service.games.errors import GameError, GameReason
from service.games.last_seen import LastSeen
from service.games.opening import Permit
from service.games.tokens import has_seat, hash_of
from service.observability import metrics
from service.observability.account import note
from service.recent import Recent

__all__ = ["CODED", "KEYED", "SEATED", "Door", "Limits"]

KEYED: Final = frozenset({"CreateGame", "QuickJoin"})
"""The methods that create tables: they need an API key, where there are any."""

SEATED: Final = frozenset(
    {
        "GetGame", "AddBot", "ResumeSeat", "LeaveGame", "Rematch", "StartGame", "Act", "ListLegalActions",
        "SuggestAction", "GetReplay", "Observe", "ListEvents",
    }
)  # fmt: skip
"""The methods that hold a token to the table's: no other proves one to be right."""

CODED: Final = frozenset({"FindGame"})
"""The methods that go by a code that is short enough to be guessed."""

_FULL_S: Final = 5.0
"""When to come again where something has to be given up first."""

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much anybody may. Each by its name, as an error tells it; 0: no limit."""

    calls_per_second: float = 0
    """Of a caller."""
    acts_per_second: float = 0
    """Accepted ones, of a table."""
    burst_s: float = 1
    """So many seconds' worth of calls, and of acts, may come at once."""
    tables_per_minute: float = 0
    """Created by a caller."""
    failures_per_minute: float = 0
    """Wrong API keys, and apart from them wrong codes, of an address; then a key is refused unseen that is not known to
    be right, and a code."""
    streams_per_caller: int = 0
    """At the same time, those that wait for events included."""
    watchers_per_table: int = 0
    """The same of those without a seat."""


class Door:
    """The limits and the keys of one server."""

    def __init__(
        self,
        limits: Limits | None = None,
        keys: ApiKeys | None = None,
        last_seen: LastSeen | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`last_seen` has the tables last seen; `now` gives seconds that never go back."""
        limits, rate = limits or Limits(), partial(Rate, now=now)
        self._limits, self._keys, self._last_seen = limits, keys or ApiKeys(), last_seen or LastSeen()
        self._calls = rate(limits.calls_per_second, limits.calls_per_second * limits.burst_s)
        self._acts = rate(limits.acts_per_second, limits.acts_per_second * limits.burst_s)
        self._tables = rate(limits.tables_per_minute / 60, limits.tables_per_minute)
        self._failures = rate(limits.failures_per_minute / 60, limits.failures_per_minute)
        self._streams, self._watchers = Room(limits.streams_per_caller), Room(limits.watchers_per_table)
        self._known = Recent[bytes, None](MOST)
        """The hashes of tokens and keys that were right lately: who goes on guessing locks out nobody else."""
        self._told_of_proxy = False
        for limit in fields(Limits):
            metrics.limited.labels(limit.name)  # shown before the first refusal

    @property
    def keyed(self) -> frozenset[str]:
        """The names of the methods that need an API key here."""
        return KEYED if self._keys else frozenset()

    def admit(self, method: MethodDescriptor, request: Any, caller: Caller) -> None:
        """Lets a call in. Raises LIMIT_EXCEEDED, API_KEY_REQUIRED, API_KEY_INVALID."""
        if method.name in CODED:
            self._refuse_after("failures_per_minute", self._failures.wait(("code", caller.address)), caller)
        self._check_key(method, caller)
        who = self._who(method, caller)
        if caller.token is not None and method.name in SEATED:
            who = self._proven(request.name, caller.token) or self._unproven(request.name, caller)
        self._refuse_after("calls_per_second", self._calls.take(who), caller)

    @contextmanager
    def inside(self, method: MethodDescriptor, request: Any, caller: Caller) -> Iterator[None]:
        """Counts a call that is in order while it is answered. Raises LIMIT_EXCEEDED."""
        who, name = self._who(method, caller), method.name
        acting = name == "Act" and not request.validate_only
        if acting:
            self._refuse_after("acts_per_second", self._acts.wait(request.name), caller)
        with ExitStack() as held:
            if method.server_streaming or (name == "ListEvents" and request.HasField("wait")):
                self._hold(held, self._streams, "streams_per_caller", who, caller)
                if caller.token is None:
                    self._hold(held, self._watchers, "watchers_per_table", request.name, caller)
            try:
                yield
            except GameError as error:
                if error.reason is GameReason.CODE_NOT_FOUND:
                    self._failures.take(("code", caller.address))
                raise
        if caller.token is not None and name in SEATED:
            self.issued(caller.token)

    def acted(self, name: str) -> None:
        """Counts an act at this table, by its name. It was accepted, and is new.

        Who is refused, or repeats what was done, uses up nothing of what those who play there have.
        """
        self._acts.take(name)

    def issued(self, token: str) -> None:
        """A seat's token is right, as the server has just given it, or has held it to its table's."""
        self._known.put(hash_of(token), None)

    def tables_of(self, caller: Caller) -> Permit:
        """What asks whether the caller may put up one more table: raises LIMIT_EXCEEDED where he may not."""
        who = self._by_key(caller)

        def permit() -> Callable[[], None]:
            self._refuse_after("tables_per_minute", self._tables.take(who), caller)
            return partial(self._tables.give_back, who)

        return permit

    def _proven(self, name: str, token: str) -> bytes | None:
        """A token's hash, where it is known to be right or a seat's at the table last seen."""
        digest = hash_of(token)
        if digest not in self._known:
            table = self._last_seen.get(name.removeprefix("games/"))
            if table is None or not has_seat(table, token):
                return None
            self._known.put(digest, None)
        return digest

    def _unproven(self, name: str, caller: Caller) -> Hashable:
        """Whose rate a token that is not known to be right takes from. Of tables that were seen lately most of them are
        wrong, and take nothing from those of tables that this server has not come to yet."""
        return ("unproven", caller.address, self._last_seen.get(name.removeprefix("games/")) is not None)

    def _check_key(self, method: MethodDescriptor, caller: Caller) -> None:
        if not self._keys:
            return
        if caller.api_key is None:
            if method.name in KEYED:
                raise ApiError("API_KEY_REQUIRED", "this call needs an API key: x-api-key: KEY")
            return
        if hash_of(caller.api_key) not in self._known:
            self._refuse_after("failures_per_minute", self._failures.wait(("key", caller.address)), caller)
        owner = self._keys.name_of(caller.api_key)
        if owner is None:
            self._failures.take(("key", caller.address))
            raise ApiError("API_KEY_INVALID", "the API key is none of this server's; it is given once, as x-api-key")
        self._known.put(hash_of(caller.api_key), None)
        note(api_key=owner)

    def _who(self, method: MethodDescriptor, caller: Caller) -> Hashable:
        if caller.token is not None and method.name in SEATED:
            return hash_of(caller.token)
        return self._by_key(caller)

    def _by_key(self, caller: Caller) -> Hashable:
        owner = self._keys.name_of(caller.api_key) if self._keys and caller.api_key else None
        return caller.address if owner is None else ("key", owner)

    def _hold(self, held: ExitStack, room: Room, limit: str, who: Hashable, caller: Caller) -> None:
        if not room.enter(who):
            self._refuse_after(limit, _FULL_S, caller)
        held.callback(room.leave, who)

    def _refuse_after(self, limit: str, wait_s: float, caller: Caller) -> None:
        """Refuses a call that may come again in so many seconds; lets it pass where that is none."""
        if wait_s <= 0:
            return
        metrics.limited.labels(limit).inc()
        note(limit=limit)
        if caller.unseen_proxy and not self._told_of_proxy:
            self._told_of_proxy = True
            _log.warning("proxy_not_trusted", why="limits count its clients as one: see the setting trusted_proxies")
        most = f"{getattr(self._limits, limit):g}"
        text = f"{limit.replace('_', ' ')}: no more than {most}; come again in {max(wait_s, 0.001):.3g} s"
        raise ApiError("LIMIT_EXCEEDED", text, {"limit": limit, "most": most}, retry_s=wait_s)
