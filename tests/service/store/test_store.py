"""The contract of a store, held against every server that can be had."""

import asyncio
import itertools

import msgspec
import pytest
from msgspec.structs import replace

from service.store.errors import BadAddress, StoreUnavailable
from service.store.keys import Keys, shard_of
from service.store.outcome import Answered, CodeTaken, Committed, Conflict, Created, Exists, Gone, Request
from service.store.store import Options, Store
from service.store.table import Table
from tests import servers
from tests.service.store.conftest import Connect
from tests.service.store.rewind import bring_back, keep
from tests.service.store.tables import advanced, batch_of, committed, created, following, new_table

REQUEST = Request("0:7f", b"asked")


async def test_a_created_table_is_loaded_as_it_was(store: Store) -> None:
    """What is created is loaded again, equal in every field."""
    table = new_table()
    outcome = await store.create(table, batch_of(table))
    loaded = await store.load(table.game)
    assert loaded is not None
    assert outcome == Created(loaded.table)
    assert loaded.table == replace(table, mark=loaded.table.mark)


async def test_an_unknown_game_is_none(store: Store) -> None:
    """A game that was never created has no table, no history, no batch, and cannot be committed to."""
    table = following(new_table())
    assert await store.load(table.game) is None
    assert await store.history(table.game, 0, 10) is None
    assert await store.batch(table.game, 1) is None
    assert await store.commit(table, batch_of(table)) == Gone()


async def test_a_game_is_created_once(store: Store) -> None:
    """Another creation of the same id changes nothing."""
    table = await created(store)
    other = replace(table, display_name="Cellar")
    assert await store.create(other, batch_of(other)) == Exists()
    assert (await store.load(table.game)).table == table  # type: ignore[union-attr]


async def test_a_repeated_creation_is_answered(store: Store) -> None:
    """The request that created a game is answered with version 1 when it comes again, wherever the game is by then."""
    table = new_table()
    outcome = await store.create(table, batch_of(table), REQUEST)
    assert isinstance(outcome, Created)
    await advanced(store, outcome.table, 2)
    again = replace(table, epoch="another")
    assert await store.create(again, batch_of(again), REQUEST) == Answered(1, same_payload=True)


async def test_a_game_that_is_created_anew_has_a_new_history(store: Store, store_url: str) -> None:
    """Where a table was lost and its history was not, a game of the same id begins again at version 1."""
    table = await created(store, versions=3)
    after = following(table)
    await store.commit(after, batch_of(after), record=["line"])
    with servers.client(store_url) as client:
        client.delete(Keys("rummyd").of(table.game).game)
    again = new_table(table.game)
    batch = batch_of(again, "Bo")
    outcome = await store.create(again, batch)
    assert isinstance(outcome, Created)
    history = await store.history(table.game, 0, 10)
    assert history is not None
    assert (history.batches, history.last_version) == ((replace(batch, mark=outcome.table.mark),), 1)
    assert await store.record(table.game) == []


async def test_a_commit_makes_the_next_version(store: Store) -> None:
    """A commit on the version that is stored replaces it."""
    table = await committed(store, following(await created(store), display_name="Attic"))
    assert table.version == 2
    assert (await store.load(table.game)).table == table  # type: ignore[union-attr]


async def test_a_commit_on_an_old_version_gives_the_newest(store: Store) -> None:
    """A commit on any version but the stored one changes nothing, and gives the table that is stored."""
    first = await created(store)
    second = await advanced(store, first, 1)
    third = await advanced(store, second, 1)
    for late in (following(first), following(following(third))):
        assert await store.commit(late, batch_of(late)) == Conflict(third)
    assert (await store.load(first.game)).table == third  # type: ignore[union-attr]
    assert (await store.history(first.game, 0, 10)).last_version == 3  # type: ignore[union-attr]


async def test_a_commit_far_behind_the_history_that_is_kept_gives_the_newest(store: Store, store_url: str) -> None:
    """A process that saw a table long ago is given the newest, however little of its history is kept."""
    first = await created(store)
    newest = await advanced(store, first, 3)
    with servers.client(store_url) as client:
        client.xtrim(Keys("rummyd").of(first.game).history, maxlen=1, approximate=False)
    late = following(first)
    assert await store.commit(late, batch_of(late)) == Conflict(newest)


async def test_a_commit_on_a_version_that_was_lost_gives_the_one_that_is_stored(store: Store, store_url: str) -> None:
    """Where another version has taken the number of the one that a commit was decided on, it changes nothing."""
    first = await created(store)
    keys = Keys("rummyd").of(first.game)
    kept = keep(store_url, keys)
    lost = await committed(store, following(first, display_name="lost"))
    bring_back(store_url, keys, kept)
    there = await committed(store, following(first, display_name="there"))
    assert lost.version == there.version == 2
    stale = following(lost)
    assert await store.commit(stale, batch_of(stale), REQUEST) == Conflict(there)
    third = await committed(store, following(there), request=REQUEST)
    assert (await store.load(first.game)).table == third  # type: ignore[union-attr]


async def test_a_table_without_a_mark_is_told_by_its_number(store: Store) -> None:
    """A table that an older release has stored, without a mark, is committed to by its version, and has one then."""
    first = await created(store)
    second = await committed(store, following(replace(first, mark=b"")))
    assert (second.version, len(second.mark)) == (2, 8)
    stale = following(replace(first, mark=b""))
    assert await store.commit(stale, batch_of(stale)) == Conflict(second)


async def test_of_many_commits_on_one_version_exactly_one_is_made(connect: Connect) -> None:
    """Where several processes commit on one version at once, one succeeds, and all others are given what it made."""
    stores = [await connect() for _ in range(4)]
    table = await created(stores[0])
    rivals = [following(table, display_name=f"of {number}") for number in range(40)]
    outcomes = await asyncio.gather(
        *(stores[number % 4].commit(rival, batch_of(rival)) for number, rival in enumerate(rivals))
    )
    (winner,) = [outcome.table for outcome in outcomes if isinstance(outcome, Committed)]
    assert outcomes.count(Conflict(winner)) == len(rivals) - 1


async def test_a_commit_on_a_lost_history_is_none(store: Store, store_url: str) -> None:
    """Where a game was lost and created anew, the next version of the old one is a conflict, though numbers agree."""
    old = await created(store)
    with servers.client(store_url) as client:
        client.delete(Keys("rummyd").of(old.game).game)
    new = await created(store, old.game)
    assert (old.version, old.epoch != new.epoch) == (new.version, True)
    assert await store.commit(following(old), batch_of(following(old))) == Conflict(new)
    assert (await committed(store, following(new))).version == 2


async def test_identical_commits_are_still_two(store: Store) -> None:
    """Two calls that happen to write the very same bytes are two commits: only one is made."""
    table = following(await created(store))
    stored = await committed(store, table)
    assert await store.commit(table, batch_of(table)) == Conflict(stored)


async def test_a_repeated_request_is_answered_by_any_process(connect: Connect) -> None:
    """A request that was committed is answered with its version, whatever version the repetition was made on."""
    one, other = await connect(), await connect()
    first = await created(one)
    second = await committed(one, following(first), request=REQUEST)
    third = await advanced(one, second, 1)
    for repeated in (second, following(third), following(following(third))):
        assert await other.commit(repeated, batch_of(repeated), REQUEST) == Answered(2, same_payload=True)
    assert (await other.load(first.game, REQUEST)).answered == Answered(2, same_payload=True)  # type: ignore[union-attr]
    assert (await other.load(first.game)).table == third  # type: ignore[union-attr]


async def test_a_request_id_used_for_something_else_is_told(store: Store) -> None:
    """The same key with another fingerprint is answered as not the same payload, and commits nothing."""
    first = await created(store)
    second = await committed(store, following(first), request=REQUEST)
    other = Request(REQUEST.key, b"with:another")
    third = following(second)
    assert await store.commit(third, batch_of(third), other) == Answered(2, same_payload=False)
    loaded = await store.load(first.game, other)
    assert loaded is not None
    assert (loaded.table, loaded.answered) == (second, Answered(2, same_payload=False))


async def test_requests_of_others_and_of_refused_commits_are_not_answered(store: Store) -> None:
    """A request is kept only with the commit that it made: neither another actor's, nor one that met a conflict."""
    first = await created(store)
    second = await committed(store, following(first), request=REQUEST)
    late = Request("1:7f", b"asked")
    assert await store.commit(second, batch_of(second), late) == Conflict(second)
    assert (await store.load(first.game, late)).answered is None  # type: ignore[union-attr]
    assert (await committed(store, following(second), request=late)).version == 3


async def test_a_batch_belongs_to_its_table(store: Store) -> None:
    """A batch of another version than the table's is refused before anything is sent."""
    table = await created(store)
    with pytest.raises(ValueError, match="version 1, the table of version 2"):
        await store.commit(following(table), batch_of(table))
    assert (await store.history(table.game, 0, 10)).last_version == 1  # type: ignore[union-attr]


async def test_everything_of_a_game_expires(store: Store, store_url: str) -> None:
    """Every key of a game has a lifetime, that of its phase, and each commit begins it anew."""
    table = await committed(store, following(await created(store)), record=["line"])
    keys = Keys("rummyd").of(table.game)
    with servers.client(store_url) as client:
        for key in (keys.game, keys.history, keys.record):
            assert 23 * 3600 < client.ttl(key) <= 24 * 3600
            client.pexpire(key, 60_000)
        await advanced(store, table, 1)
        for key in (keys.game, keys.history, keys.record):
            assert client.ttl(key) > 23 * 3600
        kept = {key.decode() for key in client.scan_iter("*")}
    assert kept == {keys.game, keys.history, keys.record, keys.open, keys.tables[0]}


async def test_all_keys_of_a_game_share_a_hash_tag(store: Store) -> None:
    """Keys, indexes and channel of a game carry the tag of its shard, and ids spread over all sixteen."""
    keys = Keys("rummyd")
    shards = set()
    for number in range(400):
        of = keys.of(f"game{number}")
        names = [*of.tables, *(name for name in msgspec.structs.astuple(of) if isinstance(name, str))]
        tags = {name[name.index("{") : name.index("}") + 1] for name in names}
        assert len(tags) == 1
        shards |= tags
    assert len(shards) == 16


async def test_a_flushed_script_is_loaded_again(store: Store, store_url: str) -> None:
    """A server that has forgotten the commit script is given it again, unnoticed."""
    table = await created(store)
    with servers.client(store_url) as client:
        client.script_flush()
    assert (await committed(store, following(table))).version == 2


async def test_namespaces_do_not_meet(connect: Connect) -> None:
    """Stores of different namespaces on one server do not see each other's games."""
    here, there = await connect(), await connect(Options(namespace="elsewhere"))
    table = await created(here)
    assert await there.load(table.game) is None
    assert (await there.open_tables(10)).tables == ()


async def test_the_record_grows_with_what_is_committed_and_with_nothing_else(store: Store) -> None:
    """A commit adds its lines to the record, in order; one that meets a conflict or was answered before adds none."""
    first = await created(store)
    assert await store.record(first.game) == []
    second = await committed(store, following(first), request=REQUEST, record=["one", "two ♠"])
    await store.commit(second, batch_of(second), record=["lost"])
    await store.commit(following(second), batch_of(following(second)), REQUEST, record=["again"])
    await committed(store, following(second), record=["three"])
    assert await store.record(first.game) == ["one", "two ♠", "three"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "http://localhost",
        "redis+magic://localhost",
        "redis://:sesame@localhost:port",
        "redis+cluster://",
    ],
)
async def test_a_bad_address_is_refused(url: str) -> None:
    """What is no address of Redis is refused as that, and never repeated: it may hold a password."""
    with pytest.raises(BadAddress) as refused:
        await Store.connect(url)
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://:sesame@127.0.0.1:1", "redis+cluster://:sesame@127.0.0.1:1"])
async def test_an_unreachable_server_is_unavailable(url: str) -> None:
    """A server that cannot be reached is reported in a moment, and without its password."""
    async with asyncio.timeout(60):
        with pytest.raises(StoreUnavailable) as refused:
            await Store.connect(url)
    assert "sesame" not in str(refused.value)


def coded(**changes: object) -> Table:
    """A private table just created, whose code lies in its shard."""
    codes = (f"CODE{number}" for number in itertools.count())
    table = new_table(**changes)  # type: ignore[arg-type]
    return replace(table, code=next(code for code in codes if shard_of(code) == shard_of(table.game)))


async def test_a_private_table_is_found_by_its_code(store: Store) -> None:
    """A code leads to its game from the commit that creates it, and any other code nowhere; the game is not listed."""
    table = coded()
    assert isinstance(await store.create(table, batch_of(table)), Created)
    assert await store.find(table.code) == table.game
    assert await store.find("CODE") is None
    assert (await store.open_tables(10)).tables == ()


async def test_a_code_has_one_game(store: Store) -> None:
    """A game whose code another has is not created, and the code leads to where it led before."""
    first = coded()
    await store.create(first, batch_of(first))
    ids = (f"rival{number}" for number in itertools.count())
    rival = new_table(next(game for game in ids if shard_of(game) == shard_of(first.code)), code=first.code)
    assert await store.create(rival, batch_of(rival)) == CodeTaken()
    assert await store.load(rival.game) is None
    assert await store.find(first.code) == first.game
    assert await store.create(first, batch_of(first)) == Exists()


async def test_a_code_in_another_shard_is_refused(store: Store) -> None:
    """A code that does not lie beside its game is refused before anything is sent."""
    table = coded()
    elsewhere = next(code for code in map(str, itertools.count()) if shard_of(code) != shard_of(table.game))
    table = replace(table, code=elsewhere)
    with pytest.raises(ValueError, match="another shard"):
        await store.create(table, batch_of(table))
    assert await store.load(table.game) is None


async def test_a_code_expires_with_its_game(store: Store, store_url: str) -> None:
    """A code lives as long as its table: each commit postpones its end, too."""
    table = coded()
    await store.create(table, batch_of(table))
    keys = Keys("rummyd").of(table.game, code=table.code)
    with servers.client(store_url) as client:
        client.pexpire(keys.code, 60_000)
        await advanced(store, table, 1)
        assert client.pexpiretime(keys.code) == client.pexpiretime(keys.game)
        kept = {key.decode() for key in client.scan_iter("*")}
    assert kept == {keys.game, keys.history, keys.code, keys.tables[0]}
