"""What each viewer of a match may be told of its cards and seeds, worked out from its record; and what tells more.

    sight = Sight.of(replay, history, seats)
    sight.too_much(client.heard)       a line for each thing that tells its hearer what he must not know

The match is played again from its seeds and moves, so that every card's place is known at every version; none of that
asks the code that redacts. A card may be named where the version that a message is of shows it to the viewer, as often
as it lies there, and nowhere else: neither jokers nor a second pack blur that. A seed may be named once its deal is
over.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from google.protobuf import json_format
from google.rpc import status_pb2
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import Event, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.replay_pb2 import Replay
from rummy.v1.view_pb2 import View

from engine import events as played
from engine.notation import write_cards
from engine.replay import read_replay, replayed
from engine.rules import DiscardDraw
from engine.state import State
from service.store.table import Batch, SeatLeft
from tests.e2e.clients import Heard
from tests.e2e.naming import CARD, Cards, Dated, Places, beyond, dated, forms, named

LAYS = ("laid_down.cards", "laid_off.low", "laid_off.high", "joker_swapped.card", "discarded.card")
LEGAL = ("actions.lay_down.cards", "actions.lay_off.cards", "actions.swap_joker.card", "actions.discard.card")


@dataclass(frozen=True)
class Sight:
    """What may be seen of a match. `states` and `events` are by version, whole; `seats` are those of tokens."""

    replay: Replay
    seats: Mapping[str, int]
    states: Mapping[int, State]
    events: Mapping[int, Sequence[object]]
    left: Mapping[int, int]
    """The version with which each seat's player left."""
    ends: Sequence[int]
    """The version with which each deal ended."""

    @classmethod
    def of(cls, replay: Replay, history: Sequence[Batch], seats: Mapping[str, int]) -> "Sight":
        """By the replay and the whole history of a table, which must agree; and by whose tokens are whose."""
        document = json_format.MessageToJson(replay, always_print_fields_with_no_presence=True)
        steps = replayed(read_replay(document.encode()))
        states: dict[int, State] = {}
        for batch in history:
            if batch.version - 1 in states:
                states[batch.version] = states[batch.version - 1]
            moves = tuple(event for event in batch.events if isinstance(event, played.Event))
            while moves:
                states[batch.version], events = next(steps)
                assert moves[: len(events)] == events
                moves = moves[len(events) :]
        assert next(steps, None) is None
        happened = {batch.version: batch.events for batch in history}
        left = {e.seat: version for version, events in happened.items() for e in events if isinstance(e, SeatLeft)}
        ends = [version for version, events in happened.items() for e in events if isinstance(e, played.DealEnded)]
        return cls(replay, seats, states, happened, left, ends)

    def too_much(self, heard: Sequence[Heard]) -> list[str]:
        """What one client heard that tells more than he may know, a line each."""
        looks, newest = [_looked_at(one) for one in heard], max(self.events)
        since = [*accumulate(looks, max)]
        until = [*accumulate((look or newest for look in reversed(looks)), min)][::-1]
        found = []
        for one, first, last in zip(heard, since, until, strict=True):
            # Who sits down is shown his table as the seat that he has now.
            token = one.answer.token if isinstance(one.answer, pb.JoinGameResponse) else one.token
            viewer = self.seats.get(token or "")
            who = "a spectator" if viewer is None else f"seat {viewer}"
            told = [*self._cards(one, viewer, range(first, last + 1)), *self._seeds(one)]
            found += [f"{who} was told {line}" for line in told]
        return found

    def _cards(self, heard: Heard, viewer: int | None, versions: range) -> Iterator[str]:
        """Cards that are named where they must not be; an error is of one of the versions."""
        if heard.answer is None:
            if more := {*CARD.findall(heard.data.decode())}:
                yield f"{sorted(more)} beside any message"
            return
        for part in dated(heard.answer):
            yield from self._part(part, viewer, heard)
        if isinstance(heard.answer, status_pb2.Status):
            asked = named(heard.asked) if heard.asked else {}
            may = {"JK"}.union(*asked.values(), *map(self._open, versions))  # a joker alone tells nothing
            for place, cards in named(heard.answer).items():
                if more := {*cards} - may:
                    yield f"{sorted(more)} in {place} of an error"
        elif not isinstance(heard.answer, Dated | Replay):
            yield from beyond(heard.answer, {})

    def _part(self, part: Dated | Replay, viewer: int | None, heard: Heard) -> Iterator[str]:
        match part:
            case Replay():
                if part != self.replay:
                    yield "a replay of something else than the whole match"
            case View():
                yield from beyond(part, self._view(part.version, viewer))
            case EventBatch():
                yield from self._told(part.events, part.version, viewer)
            case pb.ListLegalActionsResponse():
                yield from beyond(part, self._legal(part.version, viewer, len(part.actions)))
            case pb.SuggestActionResponse():
                alone = pb.ListLegalActionsResponse(actions=[part.action])
                yield from beyond(alone, self._legal(part.version, viewer, 1))
            case pb.ActResponse():
                yield from beyond(part.view, self._view(part.view.version, viewer))
                if isinstance(heard.asked, pb.ActRequest) and heard.asked.validate_only:
                    for event in part.events:
                        yield from beyond(event, self._tried(part.version, heard.asked))
                else:
                    yield from self._told(part.events, part.version, viewer)

    def _told(self, told: Sequence[Event], version: int, viewer: int | None) -> Iterator[str]:
        """Holds the events of a version to what happened."""
        happened = self.events[version]
        if len(told) > len(happened):
            yield f"{len(told)} events of version {version}, which has {len(happened)}"
        for event, true in zip(told, happened, strict=False):
            yield from beyond(event, _shown(true, self._seat(viewer, version)))

    def _seat(self, viewer: int | None, version: int) -> int | None:
        """Whose cards the viewer sees at a version: who has left is a spectator."""
        return None if viewer is None or version >= self.left.get(viewer, version + 1) else viewer

    def _view(self, version: int, viewer: int | None) -> Places:
        """What a view shows: one's own hand, and what lies open."""
        state, viewer = self.states[version], self._seat(viewer, version)
        hand = state.hands[viewer] if viewer is not None else b""
        mine = hand if viewer == state.turn else b""
        over = [event for end in self.ends if end <= version for event in self.events[end]]
        last = [event.hands for event in over if isinstance(event, played.DealEnded)][-1:]
        return {
            "hand": _texts(hand),
            "pile": _texts(_pile(state)),
            "melds.cards": _texts(*(meld.cards for meld in state.melds)),
            "owed_card": _texts(state.taken[:1] if state.owed else b""),
            "options.discard": _texts(mine),
            "options.lay_off.card": _texts(mine * len(state.melds)),
            "options.swap_joker.card": _texts(mine * len(state.melds)),
            "last_deal.hands.cards": _texts(*(hand for hands in last for hand in hands)),
        }

    def _tried(self, version: int, asked: pb.ActRequest) -> Places:
        """A dry run shows cards that the caller has named, and the pile's; what he would draw is hidden still."""
        mine, pile = sum(named(asked).values(), Cards()), _texts(_pile(self.states[version]))
        return dict.fromkeys(LAYS, mine) | {"took_pile.cards": pile, "stock_renewed.up_card": pile + mine}

    def _legal(self, version: int, viewer: int | None, count: int) -> Places:
        """Legal are actions with cards of one's own hand, in one's own turn; so many of them."""
        state = self.states[version]
        mine = state.hands[viewer] if viewer is not None and viewer == state.turn else b""
        return dict.fromkeys(LEGAL, _texts(mine * count))

    def _open(self, version: int) -> Cards:
        """The cards that lie open on the table, or have been taken from it in this turn."""
        state = self.states.get(version)
        return _texts(_pile(state), state.taken, *(meld.cards for meld in state.melds)) if state else Cards()

    def _seeds(self, heard: Heard) -> Iterator[str]:
        """Seeds that are told before their deal is over. Nothing but the replay has the last one."""
        if heard.answer == self.replay:
            return
        parts = dated(heard.answer) if heard.answer else ()
        version = max((part.version for part in parts if not isinstance(part, Replay)), default=0)
        over = sum(end <= version for end in self.ends)
        for number, seed in enumerate(self.replay.seeds[over:], over + 1):
            if any(form in heard.data for form in forms(bytes.fromhex(seed))):
                yield f"the seed of deal {number} with version {version}"


def _shown(event: object, viewer: int | None) -> Places:
    """The cards that the viewer is shown by what happened."""
    match event:
        case played.DealStarted(hands=hands, up_card=up_card):
            hand = hands[viewer] if viewer is not None else b""
            return {
                "deal_started.hand": _texts(hand or b""),
                "deal_started.up_card": _texts([] if up_card is None else [up_card]),
            }
        case played.Drew(seat=seat, cards=cards):
            return {"drew.cards": _texts((cards or b"") if seat == viewer else b"")}
        case played.StockRenewed(up_card=card):
            return {"stock_renewed.up_card": _texts([card])}
        case played.TookPile(cards=cards):
            return {"took_pile.cards": _texts(cards)}
        case played.LaidDown(cards=cards):
            return {"laid_down.cards": _texts(cards)}
        case played.LaidOff(low=low, high=high):
            return {"laid_off.low": _texts(low), "laid_off.high": _texts(high)}
        case played.JokerSwapped(card=card):
            return {"joker_swapped.card": _texts([card])}
        case played.Discarded(card=card):
            return {"discarded.card": _texts([card])}
        case played.DealEnded(hands=hands):
            return {"deal_ended.hands.cards": _texts(*hands)}
        case _:
            return {}


def _pile(state: State) -> bytes:
    """The cards of the pile that all may see: every one where any may be taken, else the top."""
    return state.pile if state.rules.discard_draw is DiscardDraw.ANY else state.pile[-1:]


def _texts(*cards: Iterable[int]) -> Cards:
    return Cards(write_cards((card,)) for some in cards for card in some)


def _looked_at(heard: Heard) -> int:
    """The version that the table had when its hearer looked at it; 0: this is no answer to a look."""
    looked = isinstance(heard.asked, pb.GetGameRequest) and isinstance(heard.answer, Game)
    return heard.answer.version if looked and isinstance(heard.answer, Game) else 0
