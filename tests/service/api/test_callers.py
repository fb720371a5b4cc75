"""What both fronts read from a call's headers, and from its connection."""

from collections.abc import Sequence

import pytest

from service.api.callers import Caller, call_id_of, caller_of
from service.api.errors import ApiError


def caller(peer: str = "192.0.2.1", proxies: int = 0, **headers: Sequence[str]) -> Caller:
    """Who calls with these headers, whose hyphens are underscores here."""
    return caller_of(lambda name: headers.get(name.replace("-", "_"), []), "the-call", "test", peer, proxies)


def test_no_authorization_is_a_spectator() -> None:
    """Without headers there is no token and no key, and the address is the connection's."""
    assert caller() == Caller(None, "the-call", "test", address="192.0.2.1")


@pytest.mark.parametrize("value", ["Bearer aZ0-._~+/=", "bearer aZ0-._~+/=", "BEARER   aZ0-._~+/=  "])
def test_bearer_token(value: str) -> None:
    """The token follows the scheme, whose case doesn't matter (RFC 6750)."""
    assert caller(authorization=[value]).token == "aZ0-._~+/="  # noqa: S105  nobody's


@pytest.mark.parametrize(
    "values", [[""], ["aZ0"], ["Bearer"], ["Bearer "], ["Basic aZ0"], ["Bearer a b"], ["Bearer ä"], ["Bearer a"] * 2]
)
def test_anything_else_is_refused(values: list[str]) -> None:
    """An authorization that is no single bearer token is TOKEN_INVALID, and the refusal doesn't repeat it."""
    with pytest.raises(ApiError) as caught:
        caller(authorization=values)
    assert caught.value.reason == "TOKEN_INVALID"
    assert "aZ0" not in caught.value.text


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("values", "trace"),
    [([TRACE], TRACE), ([], ""), ([TRACE] * 2, ""), ([TRACE[:-1]], ""), ([TRACE.upper()], ""), (["00-x"], "")],
)
def test_a_trace_is_the_callers(values: list[str], trace: str) -> None:
    """A well-formed `traceparent`, given once, is kept; any other is left out."""
    assert caller(traceparent=values).traceparent == trace


@pytest.mark.parametrize(("values", "key"), [([], None), (["k1"], "k1"), (["k1", "k2"], ""), (["k1", "k1"], "")])
def test_an_api_key_is_given_once(values: list[str], key: str | None) -> None:
    """Of several keys none counts, which is not the same as to give none."""
    assert caller(x_api_key=values).api_key == key


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, ["198.51.100.7"], "192.0.2.1"),
        (1, ["198.51.100.7"], "198.51.100.7"),
        (1, ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        (1, ["203.0.113.9", " 198.51.100.7 "], "198.51.100.7"),
        (2, ["203.0.113.9, 198.51.100.7"], "203.0.113.9"),
        (2, ["198.51.100.7"], "198.51.100.7"),
        (2, [], "192.0.2.1"),
    ],
)
def test_so_many_proxies_are_believed_as_are_trusted(proxies: int, forwarded: list[str], address: str) -> None:
    """Each trusted proxy's word counts for one address from the end; what a client wrote before them never does."""
    assert caller(proxies=proxies, x_forwarded_for=forwarded).address == address


@pytest.mark.parametrize(("proxies", "forwarded", "unseen"), [(0, ["x"], True), (0, [], False), (1, ["x"], False)])
def test_a_proxy_that_is_not_trusted_is_noticed(proxies: int, forwarded: list[str], unseen: bool) -> None:
    """Where a proxy speaks for others and is not believed, the caller's address may be that of many."""
    assert caller(proxies=proxies, x_forwarded_for=forwarded).unseen_proxy == unseen


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ("[2001:db8:1:2::1]", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        ("unix", "unix"),
        ("x" * 5000, "x" * 45),
    ],
)
def test_addresses_that_one_household_has_are_one(said: str, address: str) -> None:
    """Who has an IPv6 network has 2^64 addresses, which count as one; and no header is an address without end."""
    assert caller(proxies=1, x_forwarded_for=[said]).address == address
    assert caller(peer=said).address == address


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
