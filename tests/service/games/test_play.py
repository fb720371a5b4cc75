"""What follows from a move without anybody's doing: the next deal, stand-ins, the end; and the proof of the shuffle."""

import hashlib
from collections.abc import Sequence

import pytest

from engine import shuffle
from engine.actions import Discard, Draw, LayDown
from engine.cards import deck
from engine.events import DealEnded, DealStarted, MatchEnded, TurnStarted
from engine.rules import hand_size_for, packs_for
from engine.solver import Effort
from service.games.desk import Desk
from service.games.observe import Observed
from service.games.read import get
from service.games.seats import join, leave
from service.games.seen import SeenBatch
from service.games.tick import tick
from service.store.table import Phase
from tests.service.games.tables import Clock, Match, events_of, opened, playing, watched
from tests.strategies import any_legal, rules_of


async def finished(desk: Desk, seats: int = 2, preset: str = "basic", **overrides: object) -> Match:
    match = await playing(desk, seats, preset, **overrides)
    await match.to_the_end()
    return match


def batches_with(items: Sequence[Observed], kind: type) -> list[SeenBatch]:
    return [
        item for item in items if isinstance(item, SeenBatch) and any(isinstance(event, kind) for event in item.events)
    ]


async def test_the_next_deal_is_dealt_with_the_end_of_the_last(desk: Desk) -> None:
    """The move that ends a deal brings the next one in the same version: nobody waits between deals."""
    match = await finished(desk, deals=3)
    items = await watched(desk, match.game, after=1)
    for batch in batches_with(items, DealEnded)[:-1]:
        kinds = [type(event) for event in batch.events]
        assert kinds[kinds.index(DealEnded) :] == [DealEnded, DealStarted, TurnStarted]
    assert len(batches_with(items, DealEnded)) == 3


async def test_a_match_ends_with_its_last_deal(desk: Desk) -> None:
    """After the last deal the table is finished, and the view has the result and how the deal ended."""
    match = await finished(desk, 3, deals=2)
    seen = await get(desk, match.game, None)
    ends = [event for event in events_of(await watched(desk, match.game, after=1)) if isinstance(event, DealEnded)]
    assert seen.phase is Phase.FINISHED
    assert seen.last_deal == ends[-1]
    assert seen.view is not None
    assert seen.view.match is not None
    assert [seat.score for seat in seen.view.seats] == list(ends[-1].totals)


async def test_the_last_deal_is_shown_while_the_next_is_played(desk: Desk) -> None:
    """Who missed the end of a deal finds it in the table: scores, hands and seed; in the first deal there is none."""
    match = await playing(desk, deals=2)
    assert (await get(desk, match.game, None)).last_deal is None
    while (await match.state()).deal == 1:
        await match.move()
    for _ in range(3):
        last_deal = (await get(desk, match.game, match.tokens[1])).last_deal
        assert last_deal is not None
        assert (last_deal.deal, len(last_deal.scores), len(last_deal.hands)) == (1, 2, 2)
        await match.move()


async def test_several_deals_may_end_at_once(desk: Desk) -> None:
    """Where stand-ins play a deal from its start to its end that goes in one version, and the last deal is the last."""
    match = await playing(desk, 3, hand_size=17, up_card=False, discard_draw="none", stock_empty="end_deal", deals=5)
    for token in match.tokens[1:]:
        await leave(desk, match.game, token, request_id="")
    await match.move(any_legal)
    acted = await match.move(any_legal)
    assert [event.deal for event in acted.events if isinstance(event, DealEnded)] == [1, 2]
    assert acted.seen.last_deal is not None
    assert acted.seen.last_deal.deal == 2
    assert (await match.turn())[0] == 0


@pytest.mark.clause("G6")
@pytest.mark.parametrize("preset", ["basic", "pool500"])
async def test_every_shuffle_can_be_proved(desk: Desk, preset: str) -> None:
    """The hash of each deal's seed is told before its deal, and the seed after it gives the cards that were dealt."""
    rules = rules_of(preset, deals=3)
    table = await opened(desk, 3, preset, deals=3)
    promised = (await get(desk, table.game, None)).commitment
    tokens = [
        (await join(desk, table.game, display_name="x", seat=None, entropy=text, request_id="")).token
        for text in ("mine", "", "and mine")
    ]
    added = hashlib.sha256(b"mine\n\nand mine\n").digest()
    match = Match(desk, table.game, tokens)
    await match.to_the_end()
    views = [events_of(await watched(desk, table.game, token, after=1)) for token in tokens]
    told = [event for event in views[0] if isinstance(event, DealStarted | DealEnded)]
    assert len(told) == 6
    for number, (started, ended) in enumerate(zip(told[::2], told[1::2], strict=True)):
        assert isinstance(started, DealStarted)
        assert isinstance(ended, DealEnded)
        assert started.commitment == promised == hashlib.sha256(ended.seed).digest()
        promised = started.next_commitment
        order = shuffle.order(ended.seed, deck(packs_for(rules, 3), rules.jokers), entropy=added)
        first = (started.dealer + 1) % 3
        for seat, events in enumerate(views):
            dealt = [event for event in events if isinstance(event, DealStarted)][number].hands[seat]
            cards = order[(seat - first) % 3 : 3 * hand_size_for(rules, 3) : 3]
            assert dealt == bytes(sorted(cards))


@pytest.mark.clause("G6")
async def test_each_deals_seed_is_drawn_on_its_own(desk: Desk) -> None:
    """No seed comes twice, and none can be had from one that was published before."""
    match = await finished(desk, deals=4)
    events = events_of(await watched(desk, match.game, after=1))
    seeds = [event.seed for event in events if isinstance(event, DealEnded)]
    assert len(set(seeds)) == 4
    assert not any(hashlib.sha256(one).digest() in seeds for one in seeds)


async def test_a_seed_is_secret_until_its_deal_is_over(desk: Desk) -> None:
    """Neither the seed of the deal that is played nor the next one's is in anything that anybody is given (G3)."""
    match = await playing(desk, deals=3)
    while (await match.state()).deal < 2:
        await match.move()
    state = await match.state()
    for token in (*match.tokens, None):
        given = repr(await get(desk, match.game, token))
        assert repr(state.seed) not in given
        assert repr(state.next_seed) not in given
        assert repr(state.stock) not in given


async def test_seats_that_are_left_play_on_over_deals(desk: Desk) -> None:
    """Where all but one have left that one plays on, deal after deal, and every version ends at its turn."""
    match = await playing(desk, 3, deals=4)
    for token in match.tokens[1:]:
        await leave(desk, match.game, token, request_id="")
    while (await match.table()).phase is Phase.PLAYING:
        assert (await match.turn())[0] == 0
        await match.move(any_legal)
    events = events_of(await watched(desk, match.game, after=1))
    assert isinstance(events[-1], MatchEnded)
    assert sum(isinstance(event, DealEnded) for event in events) == 4


ENDLESS = {
    "set_min": 13, "run_min": 13, "packs": 4, "jokers": 0, "hand_size": 10, "foul": "void_hand", "idle_limit": 100,
    "turn_over_limit": 100, "deals": 2,
}  # fmt: skip
"""Rules by which a deal without melds goes on for a hundred rounds."""


async def test_hundreds_of_turns_are_not_played_at_once(desk: Desk, clock: Clock) -> None:
    """Where the only player left is out of a long deal, the clock plays the others on, bit by bit, to the next deal."""
    match = await playing(desk, 4, "basic", **ENDLESS)
    for token in match.tokens[1:]:
        await leave(desk, match.game, token, request_id="")
    await match.act(0, Draw())
    await match.act(0, LayDown((await match.state()).hands[0][:3]))
    ticks = 0
    while (state := await match.state()).deal == 1 or state.turn:
        table = await match.table()
        assert table.clock is not None
        assert table.clock.thinking
        assert table.clock.due_ms > clock.now
        clock.now = table.clock.due_ms
        before = state.round
        await tick(desk, match.game)
        assert (await match.state()).deal == 2 or 0 < (await match.state()).round - before <= 17
        ticks += 1
    assert ticks >= 4
    await match.act(0, Draw())


async def test_turns_that_are_hard_to_choose_are_not_played_at_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the effort of a turn is spent, that turn of a seat that was left is ended, and the rest is the clock's."""
    match = await playing(desk, 4)
    for token in match.tokens[1:]:
        await leave(desk, match.game, token, request_id="")
    monkeypatch.setattr("service.bots.turns_effort", lambda: Effort(1))
    await match.act(0, Draw())
    await match.act(0, Discard((await match.state()).hands[0][0]))
    table = await match.table()
    assert (await match.turn())[0] == 2
    assert table.clock is not None
    assert table.clock.thinking
