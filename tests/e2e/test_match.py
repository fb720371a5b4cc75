"""Whole matches over the network, watched from every side."""

import hashlib
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from google.protobuf import json_format
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from engine.replay import failures, read_replay
from tests.e2e.clients import Client, GrpcClient, RestClient
from tests.e2e.follower import Follower
from tests.e2e.live import Rummyd
from tests.e2e.players import Match, Watcher, client_of, game_of, sit_down, watching

FRONTS = [["grpc"], ["rest"], ["grpc", "rest"]]
HOUSE_RULES: list[dict[str, object]] = [
    {"jokers": 4, "ace": "ACE_EITHER", "target": 40, "deals": 3, "settlement": "SETTLEMENT_PAY_WINNER"},
    {"discard_draw": "DISCARD_DRAW_ANY", "stock_empty": "STOCK_EMPTY_SHUFFLE", "deals": 2, "hand_size": 5},
    {
        "jokers": 8,
        "packs": 2,
        "joker_swap": "JOKER_SWAP_SAME_TURN",
        "distinct_suits": True,
        "lay_off": "LAY_OFF_RULE_OWN",
    },
    {"go_out": "GO_OUT_DISCARD", "out_at_once": 2, "finish_round": True, "deals": 2},
    {"opening_draw": 3, "opening_order": "OPENING_ORDER_FIRST_PLAYER", "scoring": "SCORING_MELDS", "round_limit": 4},
]


async def played_and_watched(server: Rummyd, game: Game, fronts: Sequence[str]) -> None:
    """Plays a whole match, watched from every seat and by spectators over both fronts, and holds all to each other."""
    async with AsyncExitStack() as stack:

        async def watched_by(client: Client) -> Watcher:
            return await stack.enter_async_context(watching(client, match.name))

        match = await sit_down(stack, server, game, fronts)
        spectators = [
            await watched_by(await stack.enter_async_context(client_of(server, front))) for front in ("grpc", "rest")
        ]
        seats = [await watched_by(player) for player in match.players]
        crossed = [
            await watched_by(
                await stack.enter_async_context(
                    RestClient(server, player.token) if player.front == "grpc" else GrpcClient(server, player.token)
                )
            )
            for player in match.players
        ]
        start = seats[0].snapshots[0].version
        last = await match.play()
        for watcher in [*spectators, *seats, *crossed]:
            await watcher.ended()
            assert watcher.snapshots[0].version == start
            assert [batch.version for batch in watcher.batches] == list(range(start + 1, last.version + 1))
        assert spectators[0].batches == spectators[1].batches
        for seat, watcher in enumerate(seats):
            assert watcher.batches == crossed[seat].batches
            assert [redacted(batch, seat) for batch in watcher.batches] == spectators[0].batches
        agree_with_acts(match, seats)
        await agree_with_views(match, [*seats, spectators[0]], last)
        shuffles_are_proved(spectators[0].batches, spectators[0].snapshots[0])
        await replays_come_to_the_same_end([watcher.client for watcher in spectators], match.name, last)


def redacted(batch: EventBatch, seat: int) -> EventBatch:
    """What a seat was told, without the two things that it alone is told."""
    told = EventBatch()
    told.CopyFrom(batch)
    for event in told.events:
        if event.HasField("deal_started"):
            assert len(event.deal_started.hand) == event.deal_started.card_counts[seat]
            del event.deal_started.hand[:]
        if event.HasField("drew") and event.drew.seat == seat:
            assert len(event.drew.cards) == event.drew.count
            del event.drew.cards[:]
    return told


def agree_with_acts(match: Match, seats: Sequence[Watcher]) -> None:
    """Each act was answered with the events that its seat's stream had for that version."""
    assert match.acts
    for seat, acted in match.acts:
        (batch,) = [batch for batch in seats[seat].batches if batch.version == acted.version]
        assert list(batch.events) == list(acted.events)


async def agree_with_views(match: Match, watchers: Sequence[Watcher], last: View) -> None:
    """Each view that was answered, and the last of all, is what the events up to it add up to."""
    views = {(seat, acted.version): acted.view for seat, acted in match.acts}
    for watcher in watchers:
        final = await watcher.client.get(match.name)
        assert final.state == Game.STATE_FINISHED
        assert final.version == last.version
        assert final.view.result == last.result
        viewer = final.view.seat if final.view.HasField("seat") else None
        async with watcher.client.observe(match.name, after=1) as stream:
            history = [message.batch async for message in stream]
        assert [batch.version for batch in history] == list(range(2, last.version + 1))
        assert history[-len(watcher.batches) :] == watcher.batches
        follower = Follower(viewer)
        checked = 0
        for batch in history:
            follower.apply(batch)
            if viewer is not None and (viewer, batch.version) in views:
                follower.check(views[viewer, batch.version])
                checked += 1
        follower.check(final.view)
        assert checked == sum(seat == viewer for seat, _ in views)  # none where somebody was out before its first turn
        assert list(final.view.result.scores) == [seat.score for seat in final.view.seats] == follower.scores


def shuffles_are_proved(batches: Sequence[EventBatch], begun: Game) -> None:
    """The seed that is told at the end of each deal is the one whose hash was published before it."""
    expected = {begun.view.deal: begun.view.commitment, begun.view.deal + 1: begun.view.next_commitment}
    proved = 0
    for event in (event for batch in batches for event in batch.events):
        if event.HasField("deal_started"):
            assert event.deal_started.commitment == expected[event.deal_started.deal]
            expected[event.deal_started.deal + 1] = event.deal_started.next_commitment
        if event.HasField("deal_ended"):
            seed = bytes.fromhex(event.deal_ended.seed)
            assert hashlib.sha256(seed).hexdigest() == expected[event.deal_ended.deal]
            proved += 1
    assert proved > 0


async def replays_come_to_the_same_end(clients: Sequence[Client], name: str, last: View) -> None:
    """Either front gives the match as a document, from which the engine plays it again to the same end."""
    one, other = [await client.replay(name) for client in clients]
    assert one == other
    replay = read_replay(json_format.MessageToJson(one, always_print_fields_with_no_presence=True).encode())
    assert failures(replay) == []
    assert list(replay.scores) == list(last.result.scores)


@pytest.mark.parametrize("fronts", FRONTS, ids=" and ".join)
async def test_basic_rummy(rummyd: Rummyd, fronts: list[str]) -> None:
    """A match of Basic Rummy is played to its end over either front or both, and all watchers are told the same."""
    await played_and_watched(rummyd, game_of(4, deals=2), fronts)


@pytest.mark.parametrize("seats", [2, 3, 5, 6, 7])
async def test_every_number_of_players(rummyd: Rummyd, seats: int) -> None:
    """Basic Rummy is played by two to seven."""
    await played_and_watched(rummyd, game_of(seats), ["grpc", "rest"])


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=lambda rules: "-".join(list(rules)[:2]))
async def test_house_rules(rummyd: Rummyd, rules: dict[str, object]) -> None:
    """Basic Rummy is played by other rules, jokers among them, where a table wants it so."""
    await played_and_watched(rummyd, game_of(3, "basic", **rules), ["rest", "grpc"])


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("preset", ["rummy500", "pool500", "pool300", "pool500-cutthroat"])
async def test_other_games(rummyd: Rummyd, preset: str, seats: int) -> None:
    """Every other game is played over the network, too."""
    await played_and_watched(rummyd, game_of(seats, preset, deals=2), ["grpc", "rest"])
