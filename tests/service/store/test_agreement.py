"""What servers agree on: the table to create where none is open, and the one at which a request takes its seat."""

import asyncio
from functools import partial

import pytest

from service.embedded import EmbeddedRedis
from service.store.errors import StoreUnavailable
from service.store.keys import Keys
from service.store.link import Limits
from service.store.outcome import Chosen, Request
from service.store.store import Options, Store
from tests import servers
from tests.service.store.conftest import Connect

REQUEST = Request("quick_join:7f", b"asked")


async def test_the_first_proposal_stands(connect: Connect) -> None:
    """Of many who propose a table to create at once, all are told the same one, which is one of theirs."""
    stores = [await connect() for _ in range(3)]
    told = await asyncio.gather(*(stores[number % 3].next_alike("kind", f"game{number}") for number in range(30)))
    assert len(set(told)) == 1
    assert told[0] in {f"game{number}" for number in range(30)}
    assert await stores[0].next_alike("other", "another") == "another"


async def test_a_table_that_is_full_is_replaced_once(connect: Connect) -> None:
    """All who know that the table agreed on is full come to the same next one, and who is late does not replace it."""
    one, other = await connect(), await connect()
    await one.next_alike("kind", "first")
    assert await one.next_alike("kind", "second", instead_of="first") == "second"
    assert await other.next_alike("kind", "rival", instead_of="first") == "second"
    assert await other.next_alike("kind", "rival") == "second"


async def test_a_request_has_one_table(connect: Connect) -> None:
    """The first table that is chosen for a request is the one that every server is told, until it has refused."""
    one, other = await connect(), await connect()
    assert await one.chosen(REQUEST) is None
    assert await one.choose(REQUEST, "first") == Chosen("first", same_payload=True)
    assert await other.choose(REQUEST, "rival") == Chosen("first", same_payload=True)
    assert await other.choose(REQUEST, "second", instead_of="first") == Chosen("second", same_payload=True)
    assert await one.choose(REQUEST, "third", instead_of="first") == Chosen("second", same_payload=True)
    assert await one.chosen(REQUEST) == Chosen("second", same_payload=True)


async def test_another_payload_changes_no_choice(store: Store) -> None:
    """A request id that comes with another payload is told so, and can choose nothing."""
    await store.choose(REQUEST, "first")
    other = Request(REQUEST.key, b"with:another")
    assert await store.chosen(other) == Chosen("first", same_payload=False)
    assert await store.choose(other, "second", instead_of="first") == Chosen("first", same_payload=False)
    assert await store.chosen(REQUEST) == Chosen("first", same_payload=True)


async def test_nothing_is_agreed_on_for_ever(store: Store, store_url: str) -> None:
    """A choice is kept like a match, the next table for a minute; and of a request id no more than a digest."""
    await store.choose(REQUEST, "first")
    await store.next_alike("kind", "first")
    with servers.client(store_url) as client:
        ttls = {key.decode(): client.ttl(key) for key in client.scan_iter("*")}
    (choice,) = [key for key in ttls if ":quick:" in key]
    assert ttls.keys() == {choice, Keys("rummyd").next("kind")}
    assert 6 * 24 * 3600 < ttls[choice] <= 7 * 24 * 3600
    assert 0 < ttls[Keys("rummyd").next("kind")] <= 60
    assert REQUEST.key not in choice


async def test_a_choice_is_told_when_replicas_have_it(own_store: Store, embedded_redis: EmbeddedRedis) -> None:
    """Where replicas are waited for, a choice that they have not is not told, since it might be another tomorrow."""
    waiting = await Store.connect(embedded_redis.url, Options(link=Limits(call_s=1.0, replicas=1)))
    for ask in (partial(waiting.choose, REQUEST, "first"), partial(waiting.chosen, REQUEST)):
        with pytest.raises(StoreUnavailable):
            await ask()
    assert await own_store.chosen(REQUEST) == Chosen("first", same_payload=True)
    await waiting.close()
