"""Request ids: what makes a call that changes something safe to repeat.

The store keeps with each change the request that made it: its key tells whose request id it is, its fingerprint what
was asked for. A call with a known key changes nothing: it is answered with what the first one did.
"""

import hashlib

import msgspec

from service.games.errors import GameError, GameReason
from service.games.tokens import hash_of
from service.store.outcome import Request

__all__ = ["request_of", "reused", "seat_request"]


def request_of(caller: str, request_id: str, *payload: object) -> Request | None:
    """The request of a call, None where it has no request id (a UUID, in letters of either case).

    `caller` tells whose request ids these are, `payload` what a call with the same id must repeat.
    """
    if not request_id:
        return None
    fingerprint = hashlib.sha256(msgspec.msgpack.encode(payload)).digest()[:8]
    return Request(f"{caller}:{request_id.lower()}", fingerprint)


def seat_request(token: str | None, request_id: str, *payload: object) -> Request | None:
    """The request of a call that is made with a seat's token.

    It is known by the token, not by the seat: a retry may come when the token is no longer valid, or after the seats
    were numbered anew.
    """
    return request_of(hash_of(token).hex()[:16], request_id, *payload) if token else None


def reused() -> GameError:
    """What a known request id answers to another payload."""
    text = "this request id was used for another call; make a new one for each"
    return GameError(GameReason.REQUEST_ID_REUSED, text)
