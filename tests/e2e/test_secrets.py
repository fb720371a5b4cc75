"""Nobody is told a secret: every byte that comes back in whole matches is searched, and so are log and metrics."""

import base64
import re
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress

import httpx
import pytest
from rummy.v1.replay_pb2 import Replay

from service.store import Store, Table
from tests.e2e.clients import Client, Failure, Heard
from tests.e2e.live import Rummyd
from tests.e2e.players import DRAW, Match, client_of, game_of, new_id, watching

GAMES: dict[str, dict[str, object]] = {
    "basic": {"deals": 3, "jokers": 2, "stockEmpty": "STOCK_EMPTY_SHUFFLE"},
    "rummy500": {"deals": 2},
    "pool500": {"deals": 2},
    "pool300": {"deals": 1},
    "pool500-cutthroat": {"deals": 1},
}
CARD = re.compile(r"(?<![\w-])([A2-9TJQK][CDHS]|JK)(?![\w-])")


@pytest.fixture(scope="module")
def talkative(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rummyd]:
    """A server that logs all that it can."""
    with Rummyd(tmp_path_factory.mktemp("talkative"), "--log-level", "debug", redis_url=redis_url) as server:
        yield server


def forms(secret: bytes) -> Iterator[bytes]:
    """The beginning of a secret in each form in which it could be sent."""
    yield secret[:8]
    yield secret.hex()[:16].encode()
    yield secret.hex().upper()[:16].encode()
    yield base64.b64encode(secret)[:10]
    yield base64.urlsafe_b64encode(secret)[:10]


@pytest.mark.parametrize("preset", GAMES)
async def test_no_secret_is_told(talkative: Rummyd, redis_url: str, preset: str) -> None:
    """Seeds before their deal ends, others' tokens, and what tokens are made of are in no byte that anybody hears."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(talkative, front)) for front in ("grpc", "rest") * 3]
        players, strangers = clients[:3], clients[3:]
        name = (await strangers[0].create(game_of(3, preset, **GAMES[preset]))).name
        request_ids = [new_id() for _ in players]
        for player, request_id in zip(players, request_ids, strict=True):
            await player.join(name, request_id=request_id)
        told = {id(player): len(player.heard) for player in players}
        table = await stored(redis_url, name)
        watchers = [await stack.enter_async_context(watching(client, name)) for client in clients]
        strangers[-1].token = "rst_" + "A" * 43
        match = Match(name, players)
        await play_and_pry(match, strangers)
        for watcher in watchers:
            await watcher.ended()
        replay = await strangers[0].replay(name)
        async with httpx.AsyncClient() as http:
            metrics = (await http.get(talkative.metrics)).text
    seeds_come_after_their_deals(match, replay, clients)
    for client in clients:
        for secret in (table.secret, *(seat.token_hash for seat in table.seats)):
            assert_unheard(forms(secret), client.heard)
        assert_unheard(map(str.encode, request_ids), client.heard)
        after_joining = client.heard[told.get(id(client), 0) :]
        assert_unheard((str(player.token)[4:].encode() for player in players), after_joining)
    assert_unheard([strangers[-1].token.encode()], strangers[-1].heard)
    operators_are_told_no_more(
        talkative.log(), metrics, name, [*request_ids, *(str(client.token) for client in clients[:3])]
    )
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
            heard = b"\n".join(data for _, data in client.heard)
            assert game.name.encode() in heard
            assert not CARD.findall(heard.decode("latin-1"))
            assert not [text for text in (again.game.name, again.game.join_code, again.token) if text.encode() in heard]
            for secret in (table.secret, *(seat.token_hash for seat in table.seats)):
                assert_unheard(forms(secret), client.heard)
        said = "\n".join(talkative.log())
        assert game.name in said
        assert not [word for word in (game.join_code, again.game.join_code, again.token) if word in said]


async def pry(client: Client, name: str, calls: Sequence[Awaitable[object]]) -> None:
    """Makes the calls, allowed or not, and tries to watch."""
    for call in calls:
        with suppress(Failure):
            await call
    for after in (0, 1):
        with pytest.raises(Failure, match="SPECTATORS_NOT_ALLOWED"):
            async with client.observe(name, after=after) as stream:
                await stream.next()


async def play_and_pry(match: Match, strangers: Sequence[Client]) -> None:
    """Plays a match to its end, while everybody asks for all that they may and may not ask for."""
    view = (await match.players[0].get(match.name)).view
    while view.HasField("turn"):
        view = await match.play(7)
        for client in [*match.players, *strangers]:
            for call in (
                client.get(match.name),
                client.games(page_size=3),
                client.legal(match.name),
                client.act(match.name, [DRAW], validate_only=True),
                client.act(match.name, [DRAW, DRAW]),
                client.replay(match.name),
                client.rematch(match.name) if client in strangers else client.find("ZZZ ZZZ"),
                client.events(match.name, after=1),
                client.events(match.name, after=max(1, view.version - 5)),
                client.start(match.name),
                client.join(match.name) if client in strangers else client.get(match.name),
            ):
                with suppress(Failure):
                    await call


async def stored(redis_url: str, name: str) -> Table:
    """A table with all its secrets, as it is kept."""
    store = await Store.connect(redis_url)
    try:
        loaded = await store.load(name.removeprefix("games/"))
    finally:
        await store.close()
    assert loaded
    return loaded.table


def assert_unheard(words: Iterable[bytes], heard: Sequence[Heard]) -> None:
    """None of the words is in what was heard."""
    told = b"\n".join(data for _, data in heard)
    assert told
    assert not [word for word in words if word in told]


def seeds_come_after_their_deals(match: Match, replay: Replay, clients: Sequence[Client]) -> None:
    """Nobody hears the seed of a deal before the act that ends it is asked for."""
    ends = [
        sent_at
        for (_, acted), sent_at in zip(match.acts, match.sent_at, strict=True)
        for event in acted.events
        if event.HasField("deal_ended")
    ]
    assert len(replay.seeds) == len(ends) + 1
    for seed, end in zip(replay.seeds, [*ends, ends[-1]], strict=True):
        for client in clients:
            assert_unheard(forms(bytes.fromhex(seed)), [heard for heard in client.heard if heard.at < end])
    assert all(seed.encode() in b"".join(data for _, data in clients[0].heard) for seed in replay.seeds[: len(ends)])


def operators_are_told_no_more(log: Sequence[str], metrics: str, name: str, secrets: Sequence[str]) -> None:
    """Log and metrics hold no card, no token and no request id; the log names games, and the metrics not even these."""
    said = "\n".join([*log, metrics])
    assert not [word for word in secrets if word in said]
    assert not CARD.findall(said)
    assert name in said
    assert name not in metrics
