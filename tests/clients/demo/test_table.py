"""What the demo makes of events, for any rule set: the table that they lead to, and the deal that the seed leads to."""

import random
from collections.abc import Iterator

from hypothesis import given, settings
from rummy.v1.card_pb2 import Meld
from rummy.v1.event_pb2 import Event, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet as RuleSetMessage
from rummy.v1.view_pb2 import View

from clients.demo import fairness
from clients.demo.table import Table
from engine import events
from engine.errors import Refused
from engine.rules import RuleSet, packs_for
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State
from engine.step import Step, next_deal, start, step
from engine.view import redact, view
from service.api.convert.cards import KINDS, texts
from service.api.convert.events import event_to
from tests.strategies import eager, seeds, some_action, tables

ENTROPY = b"what the players added"


def steps(rules: RuleSet, seats: int, seed: int, most: int = 120) -> Iterator[Step]:
    """A match played at random, with an illegal action or a foul now and then."""
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    last = start(rules, seats, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE), ENTROPY)
    yield last
    for _ in range(most):
        state = last.state
        if state.phase is Phase.MATCH_OVER:
            return
        if state.phase is Phase.DEAL_OVER:
            last = next_deal(state, chance.randbytes(SEED_SIZE))
        else:
            try:
                odd = chance.random() < 0.1
                action = some_action(state, state.turn, chance) if odd else eager(state, chance)
                last = step(state, state.turn, action)
            except Refused:
                continue
        yield last


def told(step: Step) -> list[Event]:
    """The events of a step as a spectator is told them."""
    return [event_to(redact(event, None)) for event in step.events]


def shown(state: State) -> View:
    """As much of a spectator's view as the demo draws."""
    seen = view(state, None)
    over = state.phase in {Phase.DEAL_OVER, Phase.MATCH_OVER}
    return View(
        deal=seen.deal,
        round=seen.round,
        dealer=seen.dealer,
        turn=None if over else seen.turn,
        seats=[
            View.SeatView(card_count=seat.cards, score=seat.score, out=seat.out, voided=seat.voided)
            for seat in seen.seats
        ],
        melds=[
            Meld(number=number, kind=KINDS[m.kind], cards=texts(m.cards), owners=m.owners, founder=m.founder)
            for number, m in enumerate(seen.melds)
        ],
        pile=texts(seen.pile),
        pile_size=seen.pile_size,
        stock_size=seen.stock_size,
        pool=seen.pool,
    )


@settings(max_examples=40)
@given(tables(), seeds)
def test_events_are_enough(table: tuple[RuleSet, int], seed: int) -> None:
    """In any game the events alone lead to the table that a spectator's view shows, at every step."""
    rules, seats = table
    drawn = Table()
    drawn.hear(Game(seats=[Game.Seat(display_name="somebody")] * seats))
    for played in steps(rules, seats, seed):
        drawn.hear(EventBatch(events=told(played)))
        state = played.state
        if state.phase is Phase.MATCH_OVER and not any(isinstance(e, events.DealEnded) for e in played.events):
            raise AssertionError("a match ends with a deal")
        assert drawn.differs(shown(state)) == []


@settings(max_examples=40)
@given(tables(), seeds)
def test_the_seed_is_enough(table: tuple[RuleSet, int], seed: int) -> None:
    """In any game the seed and the events alone prove every card of a deal, and any other seed disproves them."""
    rules, seats = table
    message = RuleSetMessage(packs=packs_for(rules, seats), jokers=rules.jokers, up_card=rules.up_card)
    deal: list[Event] = []
    for played in steps(rules, seats, seed):
        for event in told(played):
            deal = [event] if event.HasField("deal_started") else [*deal, event]
            if event.HasField("deal_ended"):
                assert fairness.faults(message, ENTROPY, deal) == []
                other = bytes(SEED_SIZE).hex()
                event.deal_ended.seed = other
                assert fairness.faults(message, ENTROPY, deal) == ["the seed is not the one that was committed to"]
