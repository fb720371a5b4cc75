"""Where a message names cards, however deep in it and in whatever text; and the forms in which secrets may be sent."""

import base64
import re
from collections import Counter
from collections.abc import Iterator

from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.replay_pb2 import Replay
from rummy.v1.view_pb2 import View

CARD = re.compile(r"(?<![\w-])([A2-9TJQK][CDHS]|JK)(?![\w-])")
Cards = Counter[str]
Places = dict[str, Cards]
"""Cards by where in a message they are named: `options.lay_off.card`."""
Dated = View | EventBatch | pb.ActResponse | pb.ListLegalActionsResponse | pb.SuggestActionResponse
"""The messages that show a table at a version. With the replay, no others name cards, but for errors."""


def forms(secret: bytes) -> Iterator[bytes]:
    """The beginning of a secret in each form in which it could be sent."""
    yield secret[:8]
    yield secret.hex()[:16].encode()
    yield secret.hex().upper()[:16].encode()
    yield base64.b64encode(secret)[:10]
    yield base64.urlsafe_b64encode(secret)[:10]


def dated(message: Message) -> Iterator[Dated | Replay]:
    """The parts of a message that may name cards, itself among them; not those that are within such a part."""
    if isinstance(message, Dated | Replay):
        yield message
        return
    for _, inner in _inner(message):
        yield from dated(inner)


def named(message: Message) -> Places:
    """Every card that any text of a message names: not what players call themselves, and not within `dated` parts."""
    places: Places = {}
    for place, text in _texts(message, ""):
        if cards := CARD.findall(text):
            places.setdefault(place, Cards()).update(cards)
    return places


def beyond(message: Message, allowed: Places) -> Iterator[str]:
    """The places of a message that name cards which are not allowed there, or more often than they are."""
    for place, cards in named(message).items():
        if more := cards - allowed.get(place, Cards()):
            yield f"{sorted(more.elements())} in {place} of {message.DESCRIPTOR.name}"


def _texts(message: Message, within: str) -> Iterator[tuple[str, str]]:
    for field, value in message.ListFields():
        place = f"{within}{field.name}"
        if field.message_type and field.message_type.GetOptions().map_entry:
            yield from ((place, text) for pair in value.items() for text in map(str, pair))
        elif not field.message_type and field.name != "display_name":
            for text in value if field.is_repeated else [value]:
                yield place, text.decode("latin-1") if isinstance(text, bytes) else str(text)
    for place, inner in _inner(message):
        if not isinstance(inner, Dated | Replay):
            yield from _texts(inner, f"{within}{place}.")


def _inner(message: Message) -> Iterator[tuple[str, Message]]:
    """The messages right within a message, each with the name of its field."""
    for field, value in message.ListFields():
        if field.message_type and not field.message_type.GetOptions().map_entry:
            for inner in value if field.is_repeated else [value]:
                yield field.name, _opened(inner) if isinstance(inner, any_pb2.Any) else inner


def _opened(packed: any_pb2.Any) -> Message:
    """A detail of an error."""
    for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
        detail = kind()
        if packed.Unpack(detail):
            return detail
    raise AssertionError(f"an error carries a {packed.type_url}")
