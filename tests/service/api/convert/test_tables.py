import dataclasses

import msgspec
import pytest
from msgspec.structs import fields
from rummy.v1 import game_pb2, view_pb2

from engine.state import Phase as MatchPhase
from engine.state import State
from engine.view import Summary, View, view
from service.api.convert.cards import texts
from service.api.convert.tables import game_to, view_to, wanted_from
from service.games.seen import SeatState, SeenSeat, SeenTable
from service.store.table import Phase, TurnLimit
from tests.service.api.convert.samples import ENDED, states
from tests.strategies import rules_of


def seen_of(state: State | None, viewer: int | None = None, phase: Phase = Phase.PLAYING) -> SeenTable:
    """A table at which this is played, as the viewer sees it."""
    return SeenTable(
        viewer=viewer,
        game="7k2m",
        epoch="abc",
        version=9,
        phase=phase,
        display_name="Kitchen",
        created_ms=1_800_000_000_001,
        updated_ms=1_800_000_000_002,
        expires_ms=1_800_000_000_003,
        preset="basic",
        rules=state.rules if state else rules_of(),
        seats=(
            SeenSeat(SeatState.TAKEN, "Ann", "her words", False, 2500),
            SeenSeat(SeatState.LEFT, "Bo", "", True, 0),
            SeenSeat(SeatState.FREE, "", "", False, 0),
        ),
        commitment=None if state else b"\x07" * 32,
        view=view(state, viewer) if state else None,
        last_deal=None,
        entropy=b"\x05\x06",
        limit=TurnLimit(turn_ms=1500, bank_ms=60_000, misses=3),
        deadline_ms=1_800_000_000_004,
        code="",
        spectators=True,
        rematch="",
    )


def names(enum: object) -> set[str]:
    """The values of one of the API's enums without its prefix, but for the one that says nothing."""
    keys = [name for name, number in enum.items() if number]  # type: ignore[attr-defined]
    return {key.partition("_")[2].lower() for key in keys}


def test_every_state_of_a_table_and_a_seat_has_its_value() -> None:
    """The API knows the phases of tables and matches and the states of seats, and no others, by their names."""
    assert names(game_pb2.Game.State) == {phase.value for phase in Phase}
    assert names(game_pb2.Game.Seat.State) == {state.value for state in SeatState}
    assert names(view_pb2.View.Phase) == {phase.value for phase in MatchPhase}
    for phase in Phase:
        assert game_pb2.Game.State.Name(game_to(seen_of(None, phase=phase)).state) == f"STATE_{phase.name}"


def test_an_open_table_is_told_whole() -> None:
    """A table that waits has its names, seats, rules, times and the first deal's commitment, and no view."""
    game = game_to(seen_of(None, phase=Phase.OPEN))
    assert (game.name, game.display_name, game.version, game.epoch) == ("games/7k2m", "Kitchen", 9, "abc")
    assert [(seat.state, seat.display_name, seat.entropy) for seat in game.seats] == [
        (2, "Ann", "her words"),
        (3, "Bo", ""),
        (1, "", ""),
    ]
    assert game.seat_count == 3
    times = [time.ToMilliseconds() % 1000 for time in (game.create_time, game.update_time, game.expire_time)]
    assert times == [1, 2, 3]
    assert (game.commitment, game.rule_set.preset, game.rule_set.deals) == ("07" * 32, "basic", 1)
    assert not game.HasField("view")


def test_a_turn_limit_is_told_with_what_is_left() -> None:
    """A table with a turn limit tells it, each seat's bank, bots, and when the player to move is played for."""
    seen = seen_of(states()[0])
    game = game_to(seen)
    assert wanted_from(game).limit == seen.limit
    assert [(seat.bot, seat.bank.ToMilliseconds()) for seat in game.seats] == [(False, 2500), (True, 0), (False, 0)]
    assert game.view.deadline.ToMilliseconds() == seen.deadline_ms


def test_without_a_turn_limit_no_time_is_told() -> None:
    """A table without a turn limit has no limit, no banks and no deadline."""
    game = game_to(dataclasses.replace(seen_of(states()[0]), limit=None, deadline_ms=None))
    assert not game.HasField("turn_limit")
    assert not game.view.HasField("deadline")
    assert not any(seat.HasField("bank") for seat in game.seats)


def test_a_turn_limit_is_completed() -> None:
    """What a turn limit leaves out is filled in: no bank, and a bot after two missed turns."""
    asked = game_pb2.Game(seat_count=2)
    asked.turn_limit.turn.FromMilliseconds(1500)
    assert wanted_from(asked).limit == TurnLimit(turn_ms=1500, bank_ms=0, misses=2)


def test_who_finds_a_table_and_who_looks_on_is_told() -> None:
    """A table says whether it is private, and by what code it is found, and whether spectators are allowed."""
    public = game_to(seen_of(None))
    assert (public.visibility, public.join_code) == (public.VISIBILITY_PUBLIC, "")
    assert public.spectators == public.SPECTATORS_ALLOWED
    private = game_to(dataclasses.replace(seen_of(None), code="ABC234", spectators=False))
    assert (private.visibility, private.join_code) == (private.VISIBILITY_PRIVATE, "ABC234")
    assert private.spectators == private.SPECTATORS_NOT_ALLOWED
    for game, private_, spectators in ((public, False, True), (private, True, False)):
        wanted = wanted_from(game)
        assert (wanted.private, wanted.spectators) == (private_, spectators)


def test_the_table_that_follows_is_told_by_its_name() -> None:
    """Where there is a rematch, its table is named; else the name is empty."""
    assert game_to(seen_of(None)).rematch == ""
    assert game_to(dataclasses.replace(seen_of(None), rematch="8x2k")).rematch == "games/8x2k"


def test_a_table_is_public_and_open_to_spectators_unless_it_says_otherwise() -> None:
    """Who leaves out visibility and spectators gets a public table that anybody may watch."""
    wanted = wanted_from(game_pb2.Game(seat_count=2))
    assert (wanted.private, wanted.spectators) == (False, True)


def test_a_view_is_told_whole() -> None:
    """All that a viewer may know of the match is in the message, over whole matches of every game."""
    for number, state in enumerate(states()):
        viewer = (0, 1, 2, None)[number % 4]
        seen = seen_of(state, viewer)
        message = view_to(seen)
        assert message is not None
        told = view(state, viewer)
        assert [(s.card_count, s.score, s.out, s.voided) for s in message.seats] == [
            (s.cards, s.score, s.out, s.voided) for s in told.seats
        ]
        assert list(message.hand) == (texts(state.hands[viewer]) if viewer is not None else [])
        assert [list(meld.cards) for meld in message.melds] == [texts(meld.cards) for meld in state.melds]
        assert [list(meld.owners) for meld in message.melds] == [list(meld.owners) for meld in state.melds]
        assert [(meld.number, meld.founder) for meld in message.melds] == [
            (index, meld.founder) for index, meld in enumerate(state.melds)
        ]
        assert (list(message.pile), message.pile_size, message.stock_size) == (
            texts(told.pile),
            len(state.pile),
            len(state.stock),
        )
        assert (message.deal, message.round, message.dealer, message.pool) == (
            state.deal,
            state.round,
            state.dealer,
            state.pool,
        )
        assert message.entropy == "0506"
        assert (message.version, message.HasField("seat"), message.seat) == (9, viewer is not None, viewer or 0)
        assert view_pb2.View.Phase.Name(message.phase) == f"PHASE_{state.phase.name}"


def test_no_hand_is_told_but_the_viewers_own() -> None:
    """Another's hand changes nothing in what a viewer is given, but for its size (G3)."""
    state = next(state for state in states() if state.phase is MatchPhase.PLAY)
    other = (state.turn + 1) % 3
    swapped = list(state.hands)
    size = len(swapped[other])
    cards = sorted(state.stock[:size])
    swapped[other] = bytes(cards)
    hidden = msgspec.structs.replace(state, hands=tuple(swapped), stock=state.hands[other] + state.stock[size:])
    assert hidden != state
    for viewer in (None, *(seat for seat in range(3) if seat != other)):
        assert view_to(seen_of(state, viewer)) == view_to(seen_of(hidden, viewer))


@pytest.mark.parametrize("phase", Phase)
def test_only_the_seat_to_move_is_told_its_options(phase: Phase) -> None:
    """Whose turn it is, and to that seat what it may do, is told only while the match is played (G7)."""
    state = next(state for state in states() if state.phase is MatchPhase.PLAY)
    for viewer in (None, 0, 1, 2):
        message = view_to(seen_of(state, viewer, phase))
        assert message is not None
        assert message.HasField("turn") == (phase is Phase.PLAYING)
        assert message.HasField("options") == (phase is Phase.PLAYING and viewer == state.turn)


def test_the_options_are_told_whole() -> None:
    """Draw, takes, melds, lay-offs with their ends, swaps, discards and pass: each as the engine sums it up."""
    kinds = set()
    for state in states():
        options = view(state, state.turn).options
        message = view_to(seen_of(state, state.turn))
        assert message is not None
        if options is None:
            assert state.match is not None
            continue
        told = message.options
        assert (told.draw, list(told.take), told.lay_down, told.pass_turn) == (
            options.may_draw,
            list(options.takes),
            options.may_lay_down,
            options.may_pass,
        )
        assert list(told.discard) == texts(options.discards)
        assert told.lay_off_several == options.may_lay_off_several
        assert [(place.meld, place.card, len(place.ends)) for place in told.lay_off] == [
            (place.meld, texts([place.card])[0], len(place.ends)) for place in options.lay_offs
        ]
        assert [(place.meld, place.card) for place in told.swap_joker] == [
            (place.meld, texts([place.card])[0]) for place in options.swaps
        ]
        kinds |= {field.name for field, _ in told.ListFields()}
    assert kinds == {field.name for field in view_pb2.Options.DESCRIPTOR.fields}, "each was seen at least once"


def test_a_card_owed_is_told() -> None:
    """What was taken from the pile and has to be used is named, and where there is nothing the field is empty."""
    owed = {(state.taken[0] if state.owed else None): state for state in states()}
    assert len(owed) > 1
    for card, state in owed.items():
        message = view_to(seen_of(state, None))
        assert message is not None
        assert message.owed_card == ("" if card is None else texts([card])[0])


def test_the_result_of_a_match_is_told_when_it_is_over() -> None:
    """Winners, totals and settlement stand in the view of a match that is over, and nothing of them before."""
    for state in states():
        message = view_to(seen_of(state, None))
        assert message is not None
        assert message.HasField("result") == (state.match is not None)
        if state.match is not None:
            assert list(message.result.winners) == list(state.match.winners)
            assert list(message.result.scores) == list(state.scores)
            assert list(message.result.settlement) == list(state.match.settlement)


def test_the_last_deal_is_told_where_there_is_one() -> None:
    """How the deal before ended is part of the view."""
    message = view_to(dataclasses.replace(seen_of(states()[0]), last_deal=ENDED))
    assert message is not None
    assert (message.last_deal.deal, message.last_deal.seed) == (1, "03" * 32)


def test_no_field_of_a_view_is_forgotten() -> None:
    """Each field of the engine's view and summary has one in the API, or is known to be told elsewhere."""
    told = {field.name for field in view_pb2.View.DESCRIPTOR.fields}
    elsewhere = {"rules": "Game.rule_set", "match": "View.result", "owed": "View.owed_card", "seed": "View.last_deal"}
    assert {field.name for field in fields(View)} - told - set(elsewhere) == {"idle"}, "which the history tells"
    summary = {
        "may_draw": "draw", "may_pass": "pass_turn", "takes": "take", "may_lay_down": "lay_down", "lay_offs": "lay_off",
        "swaps": "swap_joker", "discards": "discard", "may_lay_off_several": "lay_off_several",
    }  # fmt: skip
    assert {field.name for field in fields(Summary)} == set(summary)
    assert set(summary.values()) == {field.name for field in view_pb2.Options.DESCRIPTOR.fields}
