"""Seat tokens: made for a join, known only to its caller, checked against a hash.

A token is derived from the table's secret and the join's request id, so that a retried join gives the same token though
only its hash is stored. Without the secret it cannot be guessed; without the request id (a random UUID) it cannot be
asked for.

Whose a token is, and at which version, is what the line of the call tells that showed it.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from typing import Final

from service.games.errors import GameError, GameReason
from service.observability.account import note
from service.store.table import Table

__all__ = ["has_seat", "hash_of", "new_token", "onlooker_of", "seat_of", "viewer_of"]

_PREFIX: Final = "rst_"
"""Lets secret scanners and people recognise a seat token."""


def new_token(secret: bytes, request_id: str) -> str:
    """The token of the seat that the join with this request id takes, 47 characters."""
    digest = hmac.digest(secret, b"seat token:" + request_id.encode(), "sha256")
    return _PREFIX + urlsafe_b64encode(digest).rstrip(b"=").decode()


def hash_of(token: str) -> bytes:
    """What is stored of a token: 32 bytes. A token has 256 bits of chance, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).digest()


def seat_of(table: Table, token: str | None) -> int:
    """The seat that the token belongs to. Raises TOKEN_REQUIRED without one, TOKEN_INVALID for any other."""
    seat = viewer_of(table, token)
    if seat is None:
        raise GameError(GameReason.TOKEN_REQUIRED, "this call needs a seat's token: authorization: Bearer TOKEN")
    return seat


def onlooker_of(table: Table, token: str | None) -> int | None:
    """The seat that the token belongs to; None (a spectator) without one.

    Raises TOKEN_INVALID for any other, and SPECTATORS_NOT_ALLOWED without one where the table keeps spectators away.
    """
    viewer = viewer_of(table, token)
    if viewer is None and not table.spectators:
        text = "the table keeps spectators away: this needs a seat's token, authorization: Bearer TOKEN"
        raise GameError(GameReason.SPECTATORS_NOT_ALLOWED, text)
    return viewer


def viewer_of(table: Table, token: str | None) -> int | None:
    """The seat that the token belongs to; None (a spectator) without one. Raises TOKEN_INVALID for any other."""
    note(version=table.version)
    if token is None:
        return None
    number = _seat_with(table, token)
    if number is not None:
        return number
    raise GameError(GameReason.TOKEN_INVALID, "the token is none of this table's, or was revoked")


def has_seat(table: Table, token: str) -> bool:
    """Whether the token is one of the table's."""
    return _seat_with(table, token) is not None


def _seat_with(table: Table, token: str) -> int | None:
    digest = hash_of(token)
    for number, seat in enumerate(table.seats):
        if hmac.compare_digest(seat.token_hash, digest):
            note(seat=number)
            return number
    return None
