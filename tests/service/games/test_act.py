"""Playing: what is accepted, what is refused and changes nothing, and what a player may ask beforehand."""

import dataclasses

import pytest

from engine.actions import Action, Discard, Draw, LayDown, LayOff, Take
from engine.cards import JOKER, rank_of
from engine.errors import BadRequest, Reason, Refused
from engine.events import DealEnded, DealStarted, Discarded, Drew, HandVoided, LaidDown, SeatOut, TookPile, TurnStarted
from engine.legal import legal_actions
from engine.notation import read_cards
from engine.view import view
from service.games.act import Acted, LegalActions, act, dry_run, list_legal, suggest
from service.games.desk import Desk
from service.games.errors import GameReason
from service.games.players import bots_action
from service.games.seats import leave
from service.observability import metrics
from service.store.errors import BadCursor
from service.store.table import Phase
from tests.service.games.tables import (
    Match,
    joined,
    new_request_id,
    opened,
    playing,
    put_down,
    refused,
)
from tests.strategies import position, rules_of


async def placed(desk: Desk, hands: list[str], preset: str = "basic", **fields: object) -> Match:
    """A match in this position, seat 0 to move."""
    overrides = fields.pop("rules", {})
    assert isinstance(overrides, dict)
    match = await playing(desk, len(hands), preset, **overrides)
    await put_down(desk, await match.table(), match=position(rules_of(preset, **overrides), hands, **fields))
    return match


async def legal_of(match: Match, seat: int, *, start: int = 0, size: int = 1000, at: int | None = None) -> LegalActions:
    return await list_legal(match.desk, match.game, match.tokens[seat], start=start, size=size, at_version=at)


async def tried(match: Match, seat: int, *actions: Action, expected: int | None = None) -> Acted:
    return await dry_run(match.desk, match.game, match.tokens[seat], actions, expected_version=expected)


async def test_actions_are_played_in_order(desk: Desk) -> None:
    """The rest of a turn goes in one request: one version, whose events tell all of it in order (G4)."""
    match = await placed(desk, ["7C 7D 7S 9C 2H", "KD"])
    before = await match.table()
    acted = await match.act(0, LayDown(read_cards("7C 7D 7S")), Discard(read_cards("9C")[0]))
    assert acted.version == before.version + 1 == (await match.table()).version
    assert [type(event) for event in acted.events] == [LaidDown, Discarded, TurnStarted]
    assert (acted.seen.viewer, acted.seen.version) == (0, acted.version)
    assert acted.seen.view == view(await match.state(), 0)


async def test_all_actions_are_played_or_none(desk: Desk) -> None:
    """A request of which one action is refused changes nothing, and says which one it was (G2, G4)."""
    match = await placed(desk, ["7C 7D 7S 9C 2H", "KD"])
    before = await match.table()
    with pytest.raises(Refused) as refusal:
        await match.act(0, LayDown(read_cards("7C 7D 7S")), Discard(read_cards("7C")[0]))
    assert (refusal.value.reason, refusal.value.index) == (Reason.CARD_NOT_IN_HAND, 1)
    assert await match.table() == before


async def test_a_draw_from_the_stock_is_the_last_action(desk: Desk) -> None:
    """Nothing may follow a draw in its request: else one could look at the next card for free (G4)."""
    match = await playing(desk)
    before = await match.table()
    seat, _ = await match.turn()
    with pytest.raises(BadRequest) as refusal:
        await match.act(seat, Draw(), Discard(0))
    assert refusal.value.index == 0
    assert await match.table() == before


async def test_a_player_learns_what_he_draws(desk: Desk) -> None:
    """The answer to a draw names the card to the seat that drew it."""
    match = await playing(desk)
    seat, _ = await match.turn()
    top = (await match.state()).stock[:1]
    acted = await match.act(seat, Draw())
    assert acted.events == (Drew(seat, 1, top),)


async def test_nobody_learns_from_his_move_what_others_draw(desk: Desk) -> None:
    """What follows from a move at once, a stand-in's draws or a new deal, is told as the mover may see it (G3)."""
    match = await playing(desk, 3, deals=2)
    await leave(desk, match.game, match.tokens[1], request_id="")
    dealt = drawn = 0
    while not dealt or not drawn:
        seat, _ = await match.turn()
        for event in (await match.move()).events:
            match event:
                case Drew(seat=1):
                    assert event.cards is None
                    drawn += 1
                case DealStarted():
                    assert [index for index, hand in enumerate(event.hands) if hand is not None] == [seat]
                    dealt += 1
                case _:
                    pass


async def test_a_retried_act_gives_the_first_answer(desk: Desk, other: Desk) -> None:
    """A request that comes again, to any server, has the version and events of its first time, and the view of now."""
    match, request_id = await playing(desk), new_request_id()
    seat, token = await match.turn()
    first = await match.act(seat, Draw(), request_id=request_id)
    await match.act(seat, Discard((await match.state()).hands[seat][0]))
    again = await act(other, match.game, token, [Draw()], request_id=request_id, expected_version=None)
    assert (again.version, again.events) == (first.version, first.events)
    assert again.seen.version == first.version + 1


async def test_a_retry_does_not_mind_the_version(desk: Desk) -> None:
    """A retry brings the version that its first call expected, which that call has itself left behind."""
    match, request_id = await playing(desk), new_request_id()
    seat, _ = await match.turn()
    version = (await match.table()).version
    first = await match.act(seat, Draw(), request_id=request_id, expected=version)
    assert await match.act(seat, Draw(), request_id=request_id, expected=version) == first


async def test_an_act_cannot_be_repeated_after_leaving(desk: Desk) -> None:
    """Who has given up the seat is shown no more of what it saw, not even by the retry of an act that it made."""
    match, request_id = await playing(desk, 3), new_request_id()
    seat, token = await match.turn()
    await match.act(seat, Draw(), request_id=request_id)
    table = await leave(desk, match.game, token, request_id="")
    with refused(GameReason.TOKEN_INVALID):
        await match.act(seat, Draw(), request_id=request_id)
    assert await match.table() == table


async def test_a_request_id_is_for_the_same_actions(desk: Desk) -> None:
    """Other actions under a request id that was used are refused, and change nothing."""
    match, request_id = await playing(desk), new_request_id()
    seat, _ = await match.turn()
    await match.act(seat, Draw(), request_id=request_id)
    before = await match.table()
    with refused(GameReason.REQUEST_ID_REUSED):
        await match.act(seat, Take(1), request_id=request_id)
    assert await match.table() == before


async def test_a_request_id_is_for_one_expected_version(desk: Desk) -> None:
    """The same actions, chosen for another version, are another request; that it is a repeated one the answer tells."""
    match, request_id = await playing(desk), new_request_id()
    seat, _ = await match.turn()
    version = (await match.table()).version
    first = await match.act(seat, Draw(), request_id=request_id, expected=version)
    assert not first.repeated
    assert (await match.act(seat, Draw(), request_id=request_id, expected=version)).repeated
    for other in (None, version + 1):
        with refused(GameReason.REQUEST_ID_REUSED):
            await match.act(seat, Draw(), request_id=request_id, expected=other)


async def test_a_refused_request_may_be_tried_again(desk: Desk) -> None:
    """A refusal is not kept: when it is the seat's turn the same request is played."""
    match, request_id = await playing(desk), new_request_id()
    seat, _ = await match.turn()
    with pytest.raises(Refused, match="NOT_YOUR_TURN"):
        await match.act(1 - seat, Draw(), request_id=request_id)
    while (await match.state()).turn == seat:
        await match.move()
    await match.act(1 - seat, Draw(), request_id=request_id)


async def test_a_batch_no_longer_kept_leaves_a_retry_without_events(desk: Desk) -> None:
    """When the history is gone a retry still gives the version and the view, and does nothing twice."""
    match, request_id = await playing(desk), new_request_id()
    seat, _ = await match.turn()
    first = await match.act(seat, Draw(), request_id=request_id)
    store = desk.store
    await store._link.client.xtrim(store._keys.of(match.game).history, maxlen=0, approximate=False)
    again = await match.act(seat, Draw(), request_id=request_id)
    assert (again.version, again.events, again.seen) == (first.version, (), first.seen)


@pytest.mark.parametrize("older", [1, 7], ids=["older", "newer"])
async def test_actions_are_for_the_version_that_they_were_chosen_for(desk: Desk, older: int) -> None:
    """With a version that is not the game's nothing is played, and the current one is named."""
    match = await playing(desk)
    seat, _ = await match.turn()
    current = (await match.table()).version
    for call in (match.act(seat, Draw(), expected=older), tried(match, seat, Draw(), expected=older)):
        with refused(GameReason.VERSION_MISMATCH) as refusal:
            await call
        assert refusal.value.metadata == {"current_version": str(current)}
    assert (await match.act(seat, Draw(), expected=current)).version == current + 1


async def test_nothing_is_played_before_the_match(desk: Desk) -> None:
    """At a table that waits for players there is no turn to take."""
    table = await opened(desk, 3)
    tokens = await joined(desk, table.game, 2)
    match = Match(desk, table.game, tokens)
    for call in (match.act(0, Draw()), tried(match, 0, Draw())):
        with refused(GameReason.GAME_NOT_STARTED):
            await call
    assert (await legal_of(match, 0)).actions == ()


async def test_nothing_is_played_after_the_match(desk: Desk) -> None:
    """A match that is over takes no more actions, nor does it try any out."""
    match = await playing(desk)
    await match.to_the_end()
    for call in (match.act(0, Draw()), tried(match, 0, Draw())):
        with refused(GameReason.GAME_OVER):
            await call
    assert (await legal_of(match, 0)).actions == ()


async def test_nothing_is_played_at_an_abandoned_table(desk: Desk) -> None:
    """A match that was given up does not go on, even for somebody whose token it still knows."""
    match = await playing(desk)
    await put_down(desk, await match.table(), phase=Phase.ABANDONED)
    seat, _ = await match.turn()
    for call in (match.act(seat, Draw()), tried(match, seat, Draw())):
        with refused(GameReason.GAME_OVER):
            await call
    assert (await legal_of(match, seat)).actions == ()


async def test_who_has_left_plays_no_more(desk: Desk) -> None:
    """A seat's token acts no longer when the seat was given up, nor does it ask what the seat may do."""
    match = await playing(desk, 3)
    await leave(desk, match.game, match.tokens[1], request_id="")
    for call in (match.act(1, Draw()), tried(match, 1, Draw()), legal_of(match, 1)):
        with refused(GameReason.TOKEN_INVALID):
            await call


async def test_a_spectator_does_not_play(desk: Desk) -> None:
    """Without a token there is no seat to act for, and no list of what it may do."""
    match = await playing(desk)
    for call in (
        act(desk, match.game, None, [Draw()], request_id=new_request_id(), expected_version=None),
        dry_run(desk, match.game, None, [Draw()], expected_version=None),
        list_legal(desk, match.game, None, start=0, size=10, at_version=None),
    ):
        with refused(GameReason.TOKEN_REQUIRED):
            await call


async def test_a_bots_way_is_suggested_to_the_seat_to_move(desk: Desk) -> None:
    """A player who follows what is suggested plays a whole match as bots do; nobody else is told anything."""
    match = await playing(desk, 2, round_limit=2)
    with refused(GameReason.TOKEN_REQUIRED):
        await suggest(desk, match.game, None)
    while (await match.table()).phase is Phase.PLAYING:
        state = await match.state()
        suggested = await suggest(desk, match.game, match.tokens[state.turn])
        assert suggested.action == bots_action(state)
        with pytest.raises(Refused, check=lambda error: error.reason is Reason.NOT_YOUR_TURN):
            await suggest(desk, match.game, match.tokens[1 - state.turn])
        await match.act(state.turn, suggested.action, expected=suggested.version)
    with refused(GameReason.GAME_OVER):
        await suggest(desk, match.game, match.tokens[0])


async def test_nothing_is_suggested_before_the_match(desk: Desk) -> None:
    """While a table waits for players there is nothing to do."""
    table = await opened(desk, 2)
    (token,) = await joined(desk, table.game, 1)
    with refused(GameReason.GAME_NOT_STARTED):
        await suggest(desk, table.game, token)


async def test_acts_are_counted_by_outcome(desk: Desk) -> None:
    """The metrics tell accepted acts from repeated and from refused ones, by reason, for each preset."""
    match = await playing(desk, preset="rummy500")
    seat, _ = await match.turn()

    def count(outcome: str) -> float:
        return float(metrics.acts.labels("rummy500", outcome)._value.get())

    outcomes = ("accepted", "repeated", "NOT_YOUR_TURN", "VERSION_MISMATCH", "ACTION_AFTER_DRAW")
    before = [count(outcome) for outcome in outcomes]
    with pytest.raises(Refused):
        await match.act(1 - seat, Draw())
    with refused(GameReason.VERSION_MISMATCH):
        await match.act(seat, Draw(), expected=1)
    with pytest.raises(BadRequest):
        await match.act(seat, Draw(), Draw())
    request_id = new_request_id()
    for _ in range(4):
        await act(desk, match.game, match.tokens[seat], [Draw()], request_id=request_id, expected_version=None)
    assert [count(outcome) - n for outcome, n in zip(outcomes, before, strict=True)] == [1, 3, 1, 1, 1]


# Trying out.


async def test_trying_out_changes_nothing(desk: Desk) -> None:
    """What would be accepted is told with its events and the view of now, and the table stays as it is."""
    match = await placed(desk, ["7C 7D 7S 9C 2H", "KD"])
    before = await match.table()
    tried_out = await tried(match, 0, LayDown(read_cards("7C 7D 7S")), Discard(read_cards("9C")[0]))
    assert [type(event) for event in tried_out.events] == [LaidDown, Discarded, TurnStarted]
    assert (tried_out.version, tried_out.seen.version) == (before.version, before.version)
    assert tried_out.seen.view == view(await match.state(), 0)
    assert await match.table() == before


async def test_trying_out_shows_no_card_to_be_drawn(desk: Desk) -> None:
    """A draw that is tried out is told without its card, even to the seat that would draw it (G3)."""
    match = await playing(desk)
    seat, _ = await match.turn()
    assert (await tried(match, seat, Draw())).events == (Drew(seat, 1, None),)


async def test_trying_out_does_not_show_how_a_deal_would_end(desk: Desk) -> None:
    """Who tries to go out is not told what the others hold: no scores, no hands, no seed (G3)."""
    match = await placed(desk, ["7C 7D 7S 9C", "KD QD"], "rummy500")
    tried_out = await tried(match, 0, LayDown(read_cards("7C 7D 7S")), Discard(read_cards("9C")[0]))
    assert [type(event) for event in tried_out.events] == [LaidDown, Discarded, SeatOut, DealEnded]
    end = tried_out.events[-1]
    assert isinstance(end, DealEnded)
    assert (end.scores, end.totals, end.hands, end.seed, end.pool) == ((), (), (), b"", 0)


async def test_trying_out_is_never_a_foul(desk: Desk) -> None:
    """Cards that are no meld void the hand when they are laid, and are refused when that is only tried (P15)."""
    match = await placed(desk, ["7C 8D 9S KC", "KD QD"], "pool500", round=3)
    wrong = LayDown(read_cards("7C 8D 9S"))
    before = await match.table()
    with pytest.raises(Refused, match="NOT_A_MELD"):
        await tried(match, 0, wrong)
    assert await match.table() == before
    acted = await match.act(0, wrong)
    assert HandVoided(0) in acted.events


async def test_trying_out_judges_the_newest_table(desk: Desk, other: Desk) -> None:
    """A server that has seen an older table does not judge by it."""
    match = await playing(desk)
    seat, _ = await match.turn()
    await match.act(seat, Draw())
    elsewhere = dataclasses.replace(match, desk=other)
    await elsewhere.act(seat, Discard((await match.state()).hands[seat][0]))
    assert (await tried(match, 1 - seat, Draw())).events == (Drew(1 - seat, 1, None),)


# Listing.


async def test_the_seat_to_move_is_told_all_that_it_may_do(desk: Desk) -> None:
    """The list holds every legal action of the seat to move, at the version that it is for."""
    match = await placed(desk, ["7C 7D 7S 7H 8H 9H KC", "KD"])
    legal = await legal_of(match, 0)
    assert list(legal.actions) == list(legal_actions(await match.state(), 0))
    assert (legal.version, legal.more) == ((await match.table()).version, False)


async def test_no_other_seat_is_told_anything(desk: Desk) -> None:
    """A seat that is not to move is given an empty list, whatever it holds (G7)."""
    match = await placed(desk, ["7C 7D 7S", "8C 8D 8S"])
    legal = await legal_of(match, 1)
    assert (legal.actions, legal.more) == ((), False)


async def test_a_list_comes_in_slices(desk: Desk) -> None:
    """Slices of any size, one after the other, are the whole list, and each but the last says that there is more."""
    match = await placed(desk, ["7C 7D 7S 7H 8H 9H KC", "KD"])
    whole = (await legal_of(match, 0)).actions
    for size in (1, 3, len(whole), len(whole) + 1):
        slices = [await legal_of(match, 0, start=start, size=size) for start in range(0, len(whole), size)]
        assert tuple(action for part in slices for action in part.actions) == whole
        assert [part.more for part in slices] == [*[True] * (len(slices) - 1), False]
    for beyond in (len(whole), len(whole) + 1, 10**9):
        with pytest.raises(BadCursor):
            await legal_of(match, 0, start=beyond)


async def test_the_slices_of_a_list_are_of_one_version(desk: Desk) -> None:
    """When the game has moved on the rest of a list is not given: it would be of another list."""
    match = await playing(desk)
    seat, _ = await match.turn()
    version = (await legal_of(match, seat)).version
    assert (await legal_of(match, seat, at=version)).version == version
    await match.act(seat, Draw())
    with refused(GameReason.VERSION_MISMATCH):
        await legal_of(match, seat, at=version)


async def test_what_is_listed_is_accepted(desk: Desk) -> None:
    """Each action that is listed can be tried out as it stands, jokers and all (G7)."""
    match = await placed(desk, ["3H 4H JK 6H 6C 6D AS", "KD"], rules={"jokers": 2}, melds=[("7H 8H 9H", 1)])
    actions = (await legal_of(match, 0)).actions
    assert any(isinstance(action, LayOff) for action in actions)
    assert any(isinstance(action, LayDown) and JOKER in action.cards for action in actions)
    for action in actions:
        await tried(match, 0, action)


async def test_the_pile_is_taken_from(desk: Desk) -> None:
    """A take from the pile with what follows is one request: take, use, discard."""
    match = await placed(desk, ["7C 7D 9C 2H", "KD"], "rummy500", phase="draw", pile="KC 7S 4D")
    acted = await match.act(0, Take(2), LayDown(read_cards("7C 7D 7S")), Discard(read_cards("9C")[0]))
    assert [type(event) for event in acted.events] == [TookPile, LaidDown, Discarded, TurnStarted]
    assert rank_of((await match.state()).pile[-1]) == 9
