"""What both fronts read from a call's headers."""

import pytest

from service.api.callers import bearer_token, call_id_of
from service.api.errors import ApiError


def test_no_authorization_is_a_spectator() -> None:
    """Without an authorization there is no token."""
    assert bearer_token([]) is None


@pytest.mark.parametrize("value", ["Bearer aZ0-._~+/=", "bearer aZ0-._~+/=", "BEARER   aZ0-._~+/=  "])
def test_bearer_token(value: str) -> None:
    """The token follows the scheme, whose case doesn't matter (RFC 6750)."""
    assert bearer_token([value]) == "aZ0-._~+/="


@pytest.mark.parametrize(
    "values", [[""], ["aZ0"], ["Bearer"], ["Bearer "], ["Basic aZ0"], ["Bearer a b"], ["Bearer ä"], ["Bearer a"] * 2]
)
def test_anything_else_is_refused(values: list[str]) -> None:
    """An authorization that is no single bearer token is TOKEN_INVALID, and the refusal doesn't repeat it."""
    with pytest.raises(ApiError) as caught:
        bearer_token(values)
    assert caught.value.reason == "TOKEN_INVALID"
    assert "aZ0" not in caught.value.text


def test_call_id_is_the_callers() -> None:
    """An id of 1 to 64 printable characters is kept."""
    assert call_id_of(["!~" * 32]) == "!~" * 32


@pytest.mark.parametrize("values", [[], [""], ["a b"], ["a\nb"], ["ä"], ["x" * 65], ["a", "b"]])
def test_any_other_call_id_is_replaced(values: list[str]) -> None:
    """What is no id, or more than one, is replaced by a new one: it goes into the log and back to the caller."""
    given = call_id_of(values)
    assert given not in values
    assert len(given) == 16
    assert given != call_id_of(values)
