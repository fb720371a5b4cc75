"""Who calls: what both fronts read from a call's headers.

authorization: Bearer TOKEN    a seat's token; without it the caller is a spectator
x-request-id: ID               finds the call in the log; without it, or where it is no id, the call gets one of its own
traceparent: 00-TRACE-SPAN-FF  the caller's trace, of which the call is a part (W3C Trace Context)
"""

import re
from collections.abc import Sequence
from typing import Final

from service.api.calls import new_call_id
from service.api.errors import ApiError

__all__ = ["bearer_token", "call_id_of", "traceparent_of"]

_BEARER: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]{1,256}=*) *", re.IGNORECASE)
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_CALL_ID: Final = re.compile(r"[!-~]{1,64}")


def bearer_token(authorization: Sequence[str]) -> str | None:
    """The token in the values of `authorization`, None where there are none. Raises TOKEN_INVALID for anything else."""
    if not authorization:
        return None
    found = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
    if found is None:
        raise ApiError("TOKEN_INVALID", "authorization must be given once, as: Bearer TOKEN")
    return found[1]


def call_id_of(request_id: Sequence[str]) -> str:
    """The id in the values of `x-request-id`: 1 to 64 printable characters. Where it is none, or several, a new one."""
    if len(request_id) == 1 and _CALL_ID.fullmatch(request_id[0]):
        return request_id[0]
    return new_call_id()


def traceparent_of(traceparent: Sequence[str]) -> str:
    """The value of `traceparent`; empty where it is none, or there are several."""
    return traceparent[0] if len(traceparent) == 1 and _TRACEPARENT.fullmatch(traceparent[0]) else ""
