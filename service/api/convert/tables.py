"""Tables and views as messages. What comes here is what the viewer may see already (`service.games.seen`)."""

from google.protobuf import duration_pb2
from rummy.v1 import card_pb2, event_pb2, view_pb2
from rummy.v1 import game_pb2 as pb
from rummy.v1.rule_set_pb2 import RuleSet

from engine.state import Meld, Phase
from engine.view import Summary, View
from service.api.convert.cards import CARDS, ENDS, KINDS, texts
from service.api.convert.events import deal_result_to, match_ended_to, timestamp
from service.api.convert.rules import DEFAULT, rule_set_to, rules_from
from service.games.opening import Wanted
from service.games.seen import SeatState, SeenSeat, SeenTable
from service.store.table import Phase as TablePhase
from service.store.table import TurnLimit

__all__ = ["game_to", "view_to", "wanted_from"]

_STATES = {
    TablePhase.OPEN: pb.Game.STATE_OPEN,
    TablePhase.PLAYING: pb.Game.STATE_PLAYING,
    TablePhase.FINISHED: pb.Game.STATE_FINISHED,
    TablePhase.ABANDONED: pb.Game.STATE_ABANDONED,
}
_SPECTATORS = {True: pb.Game.SPECTATORS_ALLOWED, False: pb.Game.SPECTATORS_NOT_ALLOWED}
_SEAT_STATES = {
    SeatState.FREE: pb.Game.Seat.STATE_FREE,
    SeatState.TAKEN: pb.Game.Seat.STATE_TAKEN,
    SeatState.LEFT: pb.Game.Seat.STATE_LEFT,
    SeatState.AWAY: pb.Game.Seat.STATE_AWAY,
}
_PHASES = {
    Phase.DRAW: view_pb2.View.PHASE_DRAW,
    Phase.PLAY: view_pb2.View.PHASE_PLAY,
    Phase.DEAL_OVER: view_pb2.View.PHASE_DEAL_OVER,
    Phase.MATCH_OVER: view_pb2.View.PHASE_MATCH_OVER,
}


def game_to(seen: SeenTable) -> pb.Game:
    """The table."""
    return pb.Game(
        name=f"games/{seen.game}",
        display_name=seen.display_name,
        rule_set=rule_set_to(seen.rules, seen.preset, players=len(seen.seats)),
        seat_count=len(seen.seats),
        state=_STATES[seen.phase],
        seats=[_seat(seat, limited=seen.limit is not None) for seat in seen.seats],
        version=seen.version,
        epoch=seen.epoch,
        create_time=timestamp(seen.created_ms),
        update_time=timestamp(seen.updated_ms),
        expire_time=timestamp(seen.expires_ms),
        commitment=seen.commitment.hex() if seen.commitment else "",
        view=view_to(seen),
        turn_limit=_limit(seen.limit) if seen.limit else None,
        visibility=pb.Game.VISIBILITY_PRIVATE if seen.code else pb.Game.VISIBILITY_PUBLIC,
        join_code=seen.code,
        spectators=_SPECTATORS[seen.spectators],
        rematch=f"games/{seen.rematch}" if seen.rematch else "",
    )


def wanted_from(game: pb.Game) -> Wanted:
    """The table that is asked for, with what is left out. Raises BadRules."""
    rule_set = game.rule_set if game.HasField("rule_set") else RuleSet(preset=DEFAULT)
    return Wanted(
        preset=rule_set.preset,
        rules=rules_from(rule_set),
        seat_count=game.seat_count,
        display_name=game.display_name,
        limit=_limit_from(game.turn_limit) if game.HasField("turn_limit") else None,
        private=game.visibility == pb.Game.VISIBILITY_PRIVATE,
        spectators=game.spectators != pb.Game.SPECTATORS_NOT_ALLOWED,
    )


def _limit_from(limit: pb.Game.TurnLimit) -> TurnLimit:
    return TurnLimit(turn_ms=_ms(limit.turn), bank_ms=_ms(limit.bank), misses=limit.misses or 2)


def view_to(seen: SeenTable) -> view_pb2.View | None:
    """The match as the viewer sees it; None before it starts."""
    view = seen.view
    if view is None:
        return None
    playing = seen.phase is TablePhase.PLAYING and view.phase in {Phase.DRAW, Phase.PLAY}
    return view_pb2.View(
        version=seen.version,
        seat=view.seat,
        phase=_PHASES[view.phase],
        turn=view.turn if playing else None,
        deal=view.deal,
        round=view.round,
        dealer=view.dealer,
        seats=[
            view_pb2.View.SeatView(card_count=seat.cards, score=seat.score, out=seat.out, voided=seat.voided)
            for seat in view.seats
        ],
        hand=texts(view.seats[view.seat].hand or b"") if view.seat is not None else (),
        melds=[_meld(number, meld) for number, meld in enumerate(view.melds)],
        pile=texts(view.pile),
        pile_size=view.pile_size,
        stock_size=view.stock_size,
        turn_overs=view.turn_overs,
        pool=view.pool,
        knocked=view.knocked,
        owed_card=CARDS[view.owed] if view.owed is not None else "",
        owed_jokers=view.owed_jokers,
        commitment=view.commitment.hex(),
        next_commitment=view.next_commitment.hex(),
        options=_options(view.options) if view.options and playing else None,
        last_deal=deal_result_to(seen.last_deal) if seen.last_deal else None,
        result=_result(view),
        deadline=timestamp(seen.deadline_ms) if seen.deadline_ms is not None else None,
        entropy=seen.entropy.hex(),
    )


def _seat(seat: SeenSeat, *, limited: bool) -> pb.Game.Seat:
    return pb.Game.Seat(
        state=_SEAT_STATES[seat.state],
        display_name=seat.display_name,
        entropy=seat.entropy,
        bot=seat.bot,
        bank=_duration(seat.bank_ms) if limited else None,
    )


def _limit(limit: TurnLimit) -> pb.Game.TurnLimit:
    return pb.Game.TurnLimit(turn=_duration(limit.turn_ms), bank=_duration(limit.bank_ms), misses=limit.misses)


def _duration(ms: int) -> duration_pb2.Duration:
    return duration_pb2.Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def _ms(duration: duration_pb2.Duration) -> int:
    return duration.seconds * 1000 + duration.nanos // 1_000_000


def _meld(number: int, meld: Meld) -> card_pb2.Meld:
    return card_pb2.Meld(
        number=number, kind=KINDS[meld.kind], cards=texts(meld.cards), owners=meld.owners, founder=meld.founder
    )


def _options(options: Summary) -> view_pb2.Options:
    return view_pb2.Options(
        draw=options.may_draw,
        take=options.takes,
        lay_down=options.may_lay_down,
        lay_off=[
            view_pb2.Options.LayOffPlace(
                meld=place.meld, card=CARDS[place.card], ends=[ENDS[end] for end in place.ends]
            )
            for place in options.lay_offs
        ],
        swap_joker=[view_pb2.Options.SwapPlace(meld=place.meld, card=CARDS[place.card]) for place in options.swaps],
        discard=texts(options.discards),
        pass_turn=options.may_pass,
        lay_off_several=options.may_lay_off_several,
    )


def _result(view: View) -> event_pb2.Event.MatchEnded | None:
    if view.match is None:
        return None
    return match_ended_to(view.match.winners, [seat.score for seat in view.seats], view.match.settlement)
