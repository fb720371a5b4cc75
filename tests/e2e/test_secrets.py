"""Nobody is told a secret: every byte that comes back in whole matches is searched, and so are log and metrics."""

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress

import httpx
import pytest

from engine.events import Drew
from service.store.store import Store
from service.store.table import Batch, SeatAway, SeatLeft, SeatReturned, Table, TurnTimedOut
from tests.e2e.clients import Client, Failure, Heard
from tests.e2e.live import Rummyd
from tests.e2e.naming import CARD, forms
from tests.e2e.players import Match, client_of, game_of
from tests.e2e.prying import SEATS, Party
from tests.e2e.sight import Sight
from tests.patience import LONGEST_S, patient

GAMES: dict[str, dict[str, object]] = {
    "basic": {"deals": 2, "jokers": 2, "stockEmpty": "STOCK_EMPTY_SHUFFLE"},
    "rummy500": {"deals": 2},
    "pool500": {"deals": 2, "roundLimit": 6},
    "pool300": {"deals": 2},
    "pool500-cutthroat": {"deals": 2},
}
STRIDE = 12


@pytest.fixture(scope="module")
def talkative(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rummyd]:
    """A server that logs all that it can, and whose bots are quick."""
    flags = ("--log-level", "debug", "--bot-think-ms", "10", "--history-length", "100000")
    with Rummyd(tmp_path_factory.mktemp("talkative"), *flags, redis_url=redis_url) as server:
        yield server


@pytest.mark.parametrize("preset", GAMES)
async def test_no_secret_is_told(talkative: Rummyd, redis_url: str, preset: str) -> None:
    """Cards that are hidden, seeds before their deal ends and others' tokens are in no byte that anybody hears."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(talkative, front)) for front in ("grpc", "rest") * 3]
        party = await Party.sit_down(stack, clients, preset, GAMES[preset])
        told = [len(client.heard) for client in clients[:3]] + [0] * 3
        name, strangers = party.match.name, party.strangers
        table = await stored(redis_url, name)
        strangers[-1].token = "rst_" + "A" * 43
        await party.play(STRIDE)
        for watcher in party.watchers:
            await watcher.ended()
        replay = await strangers[0].replay(name)
        async with httpx.AsyncClient(timeout=LONGEST_S) as http:
            metrics = (await http.get(talkative.metrics)).text
    history = await happened(redis_url, name)
    all_things_happened(history)
    sight = Sight.of(replay, history, {token: seat for seat, token in enumerate(party.tokens)})
    for client, joined in zip(clients, told, strict=True):
        assert sight.too_much(client.heard) == []
        for secret in (table.secret, *(seat.token_hash for seat in table.seats if seat.token_hash)):
            assert_unheard(forms(secret), client.heard)
        assert_unheard(map(str.encode, party.request_ids), client.heard)
        assert_unheard((token[4:].encode() for token in party.tokens), client.heard[joined:])
        assert replay.seeds[0].encode() in b"".join(heard.data for heard in client.heard)
    assert_unheard([strangers[-1].token.encode()], strangers[-1].heard)
    operators_are_told_no_more(talkative.log(), metrics, name, [*party.request_ids, *party.tokens])
    said = "\n".join([*talkative.log(), metrics]).encode(errors="replace")
    for secret in (*map(bytes.fromhex, replay.seeds), table.secret):
        assert not [form for form in forms(secret) if form in said]


async def test_closed_tables_tell_spectators_nothing(talkative: Rummyd, redis_url: str) -> None:
    """Where spectators are kept away no card is in any byte that they hear, nor where the players meet again."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(talkative, front)) for front in ("grpc", "rest") * 2]
        players, strangers = clients[:2], clients[2:]
        wanted = game_of(2, "basic", jokers=2, roundLimit=4)
        wanted.visibility, wanted.spectators = wanted.VISIBILITY_PRIVATE, wanted.SPECTATORS_NOT_ALLOWED
        game = await players[0].create(wanted)
        for player in players:
            await player.join(game.name)
        table = await stored(redis_url, game.name)
        match = Match(game.name, players)
        view = (await players[0].get(game.name)).view
        while view.HasField("turn"):
            view = await match.play(3)
            for client in strangers:
                assert (await client.find(game.join_code)).name == game.name
                await pry(client, game.name, [client.get(game.name), client.replay(game.name), client.legal(game.name)])
        again = await players[0].rematch(game.name)
        for client in strangers:
            await pry(client, game.name, [client.get(game.name), client.replay(game.name), client.rematch(game.name)])
            said = b"\n".join(heard.data for heard in client.heard)
            assert game.name.encode() in said
            assert not CARD.findall(said.decode("latin-1"))
            assert not [text for text in (again.game.name, again.game.join_code, again.token) if text.encode() in said]
            for secret in (table.secret, *(seat.token_hash for seat in table.seats)):
                assert_unheard(forms(secret), client.heard)
        logged = "\n".join(talkative.log())
        assert game.name in logged
        assert not [word for word in (game.join_code, again.game.join_code, again.token) if word in logged]


async def pry(client: Client, name: str, calls: Sequence[Awaitable[object]]) -> None:
    """Makes the calls, allowed or not, and tries to watch."""
    for call in calls:
        with suppress(Failure):
            await call
    for after in (0, 1):
        with pytest.raises(Failure, match="SPECTATORS_NOT_ALLOWED"):
            async with client.observe(name, after=after) as stream:
                await stream.next()


async def stored(redis_url: str, name: str) -> Table:
    """A table with all its secrets, as it is kept."""
    store = await Store.connect(redis_url, patient())
    try:
        loaded = await store.load(name.removeprefix("games/"))
    finally:
        await store.close()
    assert loaded
    return loaded.table


async def happened(redis_url: str, name: str) -> Sequence[Batch]:
    """The whole history of a table, as it is kept: not redacted for anybody."""
    store = await Store.connect(redis_url, patient())
    try:
        history = await store.history(name.removeprefix("games/"), 0, 100_000)
    finally:
        await store.close()
    assert history
    assert history.batches[0].version == 1
    return history.batches


def all_things_happened(history: Sequence[Batch]) -> None:
    """A bot has played, and a player ran out of time, was away, came back, and left."""
    events = [event for batch in history for event in batch.events]
    assert {type(event) for event in events} >= {TurnTimedOut, SeatAway, SeatReturned, SeatLeft}
    assert any(isinstance(event, Drew) and event.seat == SEATS - 1 for event in events)


def assert_unheard(words: Iterable[bytes], heard: Sequence[Heard]) -> None:
    """None of the words is in what was heard."""
    told = b"\n".join(one.data for one in heard)
    assert told
    assert not [word for word in words if word in told]


def operators_are_told_no_more(log: Sequence[str], metrics: str, name: str, secrets: Sequence[str]) -> None:
    """Log and metrics hold no card, no token and no request id; the log names games, and the metrics not even these."""
    said = "\n".join([*log, metrics])
    assert not [word for word in secrets if word in said]
    assert not CARD.findall(said)
    assert name in said
    assert name not in metrics
