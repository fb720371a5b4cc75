"""A table as it follows from what a spectator is told: a snapshot, then events. It needs to ask for nothing more."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from rummy.v1.card_pb2 import Meld
from rummy.v1.event_pb2 import DealResult, Event, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

__all__ = ["Place", "Table"]


@dataclass
class Place:
    """One seat, as everybody sees it."""

    name: str
    cards: int = 0
    score: int = 0
    out: bool = False
    voided: bool = False


@dataclass
class Table:
    """The cards on a table and who is to move. `hear` keeps it up to date."""

    version: int = 0
    places: list[Place] = field(default_factory=list)
    deal: int = 0
    round: int = 0
    dealer: int = 0
    turn: int | None = None
    melds: list[Meld] = field(default_factory=list)
    pile: list[str] = field(default_factory=list)
    """As far as it is known, oldest first; a snapshot tells the top alone where no more may be taken."""
    pile_size: int = 0
    stock_size: int = 0
    pool: int = 0
    last_deal: DealResult | None = None
    result: Event.MatchEnded | None = None

    def hear(self, news: Game | EventBatch) -> None:
        """Takes in a snapshot, or the events of the next version."""
        if isinstance(news, Game):
            self._see(news)
        else:
            for event in news.events:
                kind = event.WhichOneof("event") or ""
                if change := _CHANGES.get(kind):
                    change(self, getattr(event, kind))
        self.version = news.version

    def differs(self, view: View) -> list[str]:
        """What this table has otherwise than a view of the same version: a line each."""
        mine: dict[str, object] = {
            "version": self.version,
            "deal": self.deal,
            "round": self.round,
            "dealer": self.dealer,
            "turn": self.turn,
            "seats": [(seat.cards, seat.score, seat.out, seat.voided) for seat in self.places],
            "melds": self.melds,
            "pile": self.pile[-len(view.pile) :] if view.pile else [],
            "pile_size": self.pile_size,
            "stock_size": self.stock_size,
            "pool": self.pool,
        }
        theirs: dict[str, object] = {
            "turn": view.turn if view.HasField("turn") else None,
            "seats": [(seat.card_count, seat.score, seat.out, seat.voided) for seat in view.seats],
            "melds": list(view.melds),
            "pile": list(view.pile),
        }
        pairs = ((name, value, theirs.get(name, getattr(view, name))) for name, value in mine.items())
        return [f"{name} is {value} by events, {other} by view" for name, value, other in pairs if value != other]

    def _see(self, game: Game) -> None:
        view = game.view
        self.places = [Place(seat.display_name) for seat in game.seats]
        for place, seat in zip(self.places, view.seats, strict=False):
            place.cards, place.score, place.out, place.voided = seat.card_count, seat.score, seat.out, seat.voided
        self.deal, self.round, self.dealer = view.deal, view.round, view.dealer
        self.turn = view.turn if view.HasField("turn") else None
        self.melds, self.pile = list(view.melds), list(view.pile)
        self.pile_size, self.stock_size, self.pool = view.pile_size, view.stock_size, view.pool
        self.last_deal = view.last_deal if view.HasField("last_deal") else None
        self.result = view.result if view.HasField("result") else None


def _sit_down(table: Table, event: Event.SeatJoined) -> None:
    table.places[event.seat].name = event.display_name


def _begin(table: Table, event: Event.MatchStarted) -> None:
    table.places = [table.places[seat] for seat in event.former_seats]


def _deal_out(table: Table, event: Event.DealStarted) -> None:
    for place, cards in zip(table.places, event.card_counts, strict=True):
        place.cards, place.out, place.voided = cards, False, False
    table.deal, table.dealer, table.melds = event.deal, event.dealer, []
    table.pile = [event.up_card] if event.up_card else []
    table.pile_size, table.stock_size, table.pool = len(table.pile), event.stock_size, event.pool


def _turn(table: Table, event: Event.TurnStarted) -> None:
    table.turn, table.round = event.seat, event.round


def _draw(table: Table, event: Event.Drew) -> None:
    table.places[event.seat].cards += event.count
    table.stock_size -= event.count


def _renew(table: Table, event: Event.StockRenewed) -> None:
    table.pile, table.pile_size, table.stock_size = [event.up_card], 1, event.stock_size


def _take(table: Table, event: Event.TookPile) -> None:
    table.places[event.seat].cards += len(event.cards)
    del table.pile[-len(event.cards) :]
    table.pile_size -= len(event.cards)


def _lay_down(table: Table, event: Event.LaidDown) -> None:
    owners = [event.seat] * len(event.cards)
    meld = Meld(number=event.meld, kind=event.kind, cards=event.cards, owners=owners, founder=event.seat)
    table.melds.append(meld)
    table.places[event.seat].cards -= len(event.cards)


def _lay_off(table: Table, event: Event.LaidOff) -> None:
    meld = table.melds[event.meld]
    meld.cards[:] = [*event.low, *meld.cards, *event.high]
    meld.owners[:] = [*[event.seat] * len(event.low), *meld.owners, *[event.seat] * len(event.high)]
    table.places[event.seat].cards -= len(event.low) + len(event.high)


def _swap(table: Table, event: Event.JokerSwapped) -> None:
    meld = table.melds[event.meld]
    meld.cards[event.place], meld.owners[event.place] = event.card, event.seat


def _discard(table: Table, event: Event.Discarded) -> None:
    table.places[event.seat].cards -= 1
    table.pile.append(event.card)
    table.pile_size += 1


def _void(table: Table, event: Event.HandVoided) -> None:
    table.places[event.seat].voided = True


def _go_out(table: Table, event: Event.SeatOut) -> None:
    table.places[event.seat].out = True


def _end_deal(table: Table, event: DealResult) -> None:
    table.last_deal, table.turn, table.pool = event, None, event.pool
    for place, score in zip(table.places, event.scores, strict=True):
        place.score = score


def _end(table: Table, event: Event.MatchEnded) -> None:
    table.result = event


_CHANGES: Final[Mapping[str, Callable[[Table, Any], None]]] = MappingProxyType(
    {
        "seat_joined": _sit_down,
        "match_started": _begin,
        "deal_started": _deal_out,
        "turn_started": _turn,
        "drew": _draw,
        "stock_renewed": _renew,
        "took_pile": _take,
        "laid_down": _lay_down,
        "laid_off": _lay_off,
        "joker_swapped": _swap,
        "discarded": _discard,
        "hand_voided": _void,
        "seat_out": _go_out,
        "deal_ended": _end_deal,
        "match_ended": _end,
    }
)
"""What each kind of event changes. Those that are not here change nothing that is drawn."""
