"""Who calls: what both fronts read from a call's headers, and from its connection.

authorization: Bearer TOKEN    a seat's token; without it the caller is a spectator
x-api-key: KEY                 the key of one who may create tables, where a key is needed
x-request-id: ID               the id by which the log has the call; without it, or where it is no id, one of our own
x-forwarded-for: ADDRESS, …    whom proxies speak for, as far as they are trusted
traceparent: 00-TRACE-SPAN-FF  the caller's trace, of which the call is a part (W3C Trace Context)
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from service.api.errors import ApiError

__all__ = ["Caller", "call_id_of", "caller_of", "new_call_id"]

_BEARER: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]{1,256}=*) *", re.IGNORECASE)
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_CALL_ID: Final = re.compile(r"[!-~]{1,64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and how: the bearer token if any, an id that finds the call in the logs, and the front's name.

    `traceparent` names the caller's own trace (W3C); empty: none.
    """

    token: str | None
    call_id: str
    front: str
    traceparent: str = ""
    address: str = ""
    """Where from: an IPv4 address, or the 64 bits of an IPv6 one that a household or a server has to itself."""
    api_key: str | None = None
    """As it was given; empty where it was given more than once."""
    unseen_proxy: bool = False
    """The address may be a proxy's, as it says for whom it speaks and is not trusted."""


def caller_of(header: Callable[[str], Sequence[str]], call_id: str, front: str, peer: str, proxies: int) -> Caller:
    """The caller of a call from `peer`, whose headers `header` gives, each by its name with all its values.

    `proxies` is how many in front of this server say truly for whom they speak. Raises TOKEN_INVALID.
    """
    keys, forwarded = header("x-api-key"), header("x-forwarded-for")
    api_key = (keys[0] if len(keys) == 1 else "") if keys else None
    address = _address(peer, forwarded, proxies) if proxies and forwarded else peer
    token = _bearer_token(header("authorization"))
    trace = _traceparent(header("traceparent"))
    return Caller(token, call_id, front, trace, _household(address), api_key, bool(forwarded and not proxies))


def call_id_of(values: Sequence[str]) -> str:
    """The id in the values of `x-request-id`: 1 to 64 printable characters. Where it is none, or several, a new one."""
    if len(values) == 1 and _CALL_ID.fullmatch(values[0]):
        return values[0]
    return new_call_id()


def new_call_id() -> str:
    """An id for a call that brought none: 16 hex digits."""
    return secrets.token_hex(8)


def _bearer_token(authorization: Sequence[str]) -> str | None:
    """The token in the values of `authorization`, None where there are none. Raises TOKEN_INVALID for anything else."""
    if not authorization:
        return None
    found = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
    if found is None:
        raise ApiError("TOKEN_INVALID", "authorization must be given once, as: Bearer TOKEN")
    return found[1]


def _address(peer: str, forwarded: Sequence[str], proxies: int) -> str:
    """Each proxy adds whom it speaks for at the end: the peer is the last, who stands before the trusted is it."""
    said = [address.strip() for value in forwarded for address in value.split(",")]
    return [*said, peer][-1 - min(proxies, len(said))]


@lru_cache(maxsize=4096)
def _household(address: str) -> str:
    """The address that limits are counted by. What is none counts as one, too, and is no longer than any other."""
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return address[:45]
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))


def _traceparent(traceparent: Sequence[str]) -> str:
    """The value of `traceparent`; empty where it is none, or there are several."""
    return traceparent[0] if len(traceparent) == 1 and _TRACEPARENT.fullmatch(traceparent[0]) else ""
