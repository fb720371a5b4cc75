import re

from msgspec.structs import replace

from service.games.errors import GameReason
from service.games.tokens import has_seat, hash_of, new_token, seat_of, viewer_of
from service.store.table import Seat
from tests.service.games.tables import refused
from tests.service.store.tables import new_table

SECRET = bytes(range(32))
TABLE = replace(
    new_table(), seats=(Seat(), *(Seat(taken=True, token_hash=hash_of(new_token(SECRET, name))) for name in "ab"))
)


def test_a_token_is_recognisable_and_long() -> None:
    """A token is 47 characters that fit a header, and begins so that whoever finds one in a log knows what it is."""
    assert re.fullmatch(r"rst_[A-Za-z0-9_-]{43}", new_token(SECRET, "a"))


def test_a_token_is_of_its_table_and_request() -> None:
    """The same request id gives the same token at one table, and another at any other."""
    assert new_token(SECRET, "a") == new_token(SECRET, "a")
    assert len({new_token(SECRET, "a"), new_token(SECRET, "b"), new_token(bytes(32), "a")}) == 3


def test_a_token_names_its_seat() -> None:
    """Who comes with a seat's token acts for that seat and sees what it sees."""
    assert seat_of(TABLE, new_token(SECRET, "b")) == viewer_of(TABLE, new_token(SECRET, "b")) == 2


def test_a_token_has_a_seat_or_none() -> None:
    """Whether a token is one of a table's can be asked without a refusal; a free seat is nobody's."""
    assert [has_seat(TABLE, new_token(SECRET, name)) for name in "abc"] == [True, True, False]
    assert not has_seat(TABLE, "")


def test_without_a_token_one_may_watch_only() -> None:
    """Who brings no token is a spectator, and takes no seat's part."""
    assert viewer_of(TABLE, None) is None
    with refused(GameReason.TOKEN_REQUIRED):
        seat_of(TABLE, None)


def test_a_wrong_token_is_not_taken_for_none() -> None:
    """A token that the table does not know is refused even where a spectator may look, and is not repeated."""
    for token in ("", "rst_", new_token(SECRET, "c"), hash_of(new_token(SECRET, "a")).hex()):
        with refused(GameReason.TOKEN_INVALID) as refusal:
            viewer_of(TABLE, token)
        assert not token or token not in str(refusal.value)
