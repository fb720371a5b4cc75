"""A client's own idea of a table, made of nothing but the events that it was told: it must be what a view shows."""

from collections import Counter
from dataclasses import dataclass, field

from rummy.v1.event_pb2 import DealResult, Event, EventBatch
from rummy.v1.view_pb2 import View


@dataclass
class LaidMeld:
    """A meld on the table."""

    kind: int
    cards: list[str]
    owners: list[int]
    founder: int


@dataclass
class Follower:
    """The table as `viewer` (a seat, or None: a spectator) can work it out, from the match's beginning on."""

    viewer: int | None
    version: int = 0
    deal: int = 0
    dealer: int = 0
    round: int = 0
    turn: int | None = None
    phase: int = View.PHASE_UNSPECIFIED
    hand: Counter[str] = field(default_factory=Counter)
    counts: list[int] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    voided: set[int] = field(default_factory=set)
    melds: list[LaidMeld] = field(default_factory=list)
    pile: list[str] = field(default_factory=list)
    stock: int = 0
    turn_overs: int = 0
    pool: int = 0
    knocked: bool = False
    commitments: tuple[str, str] = ("", "")
    last_deal: DealResult | None = None
    result: Event.MatchEnded | None = None

    def apply(self, batch: EventBatch) -> None:
        """Takes in the events of the next version."""
        assert self.version in (0, batch.version - 1)
        self.version = batch.version
        for event in batch.events:
            self._take(event)

    def check(self, view: View) -> None:
        """Holds the view of this version to what the events have told."""
        assert view.version == self.version
        assert (view.seat if view.HasField("seat") else None) == self.viewer
        assert (view.turn if view.HasField("turn") else None) == self.turn
        assert (view.phase, view.deal, view.dealer, view.round) == (self.phase, self.deal, self.dealer, self.round)
        assert Counter(view.hand) == +self.hand
        assert [seat.card_count for seat in view.seats] == self.counts
        assert [seat.score for seat in view.seats] == self.scores
        assert {number for number, seat in enumerate(view.seats) if seat.voided} == self.voided
        assert [seat.out for seat in view.seats] == [count == 0 for count in self.counts]
        melds = [LaidMeld(meld.kind, list(meld.cards), list(meld.owners), meld.founder) for meld in view.melds]
        assert [meld.number for meld in view.melds] == list(range(len(melds)))
        assert melds == self.melds
        assert view.pile_size == len(self.pile)
        assert list(view.pile) == self.pile[len(self.pile) - len(view.pile) :]
        assert bool(view.pile) == bool(self.pile)
        assert (view.stock_size, view.turn_overs, view.pool) == (self.stock, self.turn_overs, self.pool)
        assert view.knocked == self.knocked
        assert (view.commitment, view.next_commitment) == self.commitments
        assert (view.last_deal if view.HasField("last_deal") else None) == self.last_deal
        assert (view.result if view.HasField("result") else None) == self.result

    def _take(self, event: Event) -> None:  # noqa: C901, PLR0912  one case for each event
        match event.WhichOneof("event"):
            case "match_started":
                self.scores = [0] * len(event.match_started.former_seats)
            case "deal_started":
                self._deal(event.deal_started)
            case "turn_started":
                self.turn, self.round = event.turn_started.seat, event.turn_started.round
                self.phase = View.PHASE_DRAW
            case "drew":
                self.stock -= event.drew.count
                assert len(event.drew.cards) == (event.drew.count if event.drew.seat == self.viewer else 0)
                self._get(event.drew.seat, event.drew.count, list(event.drew.cards))
            case "stock_renewed":
                self.turn_overs += 1
                self.pile, self.stock = [event.stock_renewed.up_card], event.stock_renewed.stock_size
            case "took_pile":
                taken = list(event.took_pile.cards)
                assert self.pile[-len(taken) :] == taken
                del self.pile[-len(taken) :]
                self._get(event.took_pile.seat, len(taken), taken)
            case "laid_down" | "laid_off" | "joker_swapped":
                self._lay(event)
            case "discarded":
                self._give(event.discarded.seat, [event.discarded.card])
                self.pile.append(event.discarded.card)
            case "hand_voided":
                self.voided.add(event.hand_voided.seat)
            case "deal_ended":
                self.last_deal, self.scores = event.deal_ended, list(event.deal_ended.scores)
                self.pool, self.turn, self.phase = event.deal_ended.pool, None, View.PHASE_DEAL_OVER
            case "match_ended":
                self.result, self.phase = event.match_ended, View.PHASE_MATCH_OVER
            case "knocked" | "passed" | "seat_out" | "seat_joined" | "seat_left":
                pass
            case other:
                raise AssertionError(f"an event unheard of: {other}")

    def _deal(self, dealt: Event.DealStarted) -> None:
        self.deal, self.dealer, self.pool = dealt.deal, dealt.dealer, dealt.pool
        self.counts, self.hand = list(dealt.card_counts), Counter(dealt.hand)
        assert len(dealt.hand) == (0 if self.viewer is None else dealt.card_counts[self.viewer])
        self.pile, self.stock = [dealt.up_card] if dealt.up_card else [], dealt.stock_size
        self.melds, self.voided, self.turn_overs, self.knocked = [], set(), 0, False
        self.commitments = (dealt.commitment, dealt.next_commitment)

    def _lay(self, event: Event) -> None:
        if event.HasField("laid_down"):
            down = event.laid_down
            assert down.meld == len(self.melds)
            self.melds.append(LaidMeld(down.kind, list(down.cards), [down.seat] * len(down.cards), down.seat))
            self._give(down.seat, list(down.cards))
            self.knocked = True
        elif event.HasField("laid_off"):
            off = event.laid_off
            meld = self.melds[off.meld]
            meld.cards = [*off.low, *meld.cards, *off.high]
            meld.owners = [*[off.seat] * len(off.low), *meld.owners, *[off.seat] * len(off.high)]
            self._give(off.seat, [*off.low, *off.high])
        else:
            swap = event.joker_swapped
            meld = self.melds[swap.meld]
            assert meld.cards[swap.place] == "JK"
            meld.cards[swap.place], meld.owners[swap.place] = swap.card, swap.seat
            self._give(swap.seat, [swap.card])
            self._get(swap.seat, 1, ["JK"])

    def _get(self, seat: int, count: int, cards: list[str]) -> None:
        self.counts[seat] += count
        self.phase = View.PHASE_PLAY
        if seat == self.viewer:
            self.hand.update(cards)

    def _give(self, seat: int, cards: list[str]) -> None:
        self.counts[seat] -= len(cards)
        if seat == self.viewer:
            self.hand.subtract(cards)
            assert min(self.hand.values(), default=0) >= 0
