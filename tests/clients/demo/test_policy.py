"""How the seats of the demo choose."""

from collections.abc import AsyncIterator

from rummy.v1.action_pb2 import Action
from rummy.v1.card_pb2 import END_LOW
from rummy.v1.view_pb2 import Options, View

from clients.demo.policy import choose


async def legal() -> AsyncIterator[Action]:
    for cards in (["2C", "2D", "2H"], ["3C", "4C", "5C", "6C"], ["7C", "7D", "7H"]):
        yield Action(lay_down=Action.LayDown(cards=cards))
    yield Action(discard=Action.Discard(card="2C"))


async def chosen(options: Options, *hand: str) -> Action:
    return await choose(View(hand=hand, options=options), legal)


async def test_draws_first() -> None:
    """A turn begins with a card from the stock, where one may be drawn."""
    assert await chosen(Options(draw=True, take=[1, 2])) == Action(draw=Action.Draw())


async def test_takes_where_it_cannot_draw() -> None:
    """Without a stock the least is taken from the pile."""
    assert await chosen(Options(take=[2, 3])) == Action(take=Action.Take(count=2))


async def test_lays_down_the_longest() -> None:
    """Of several melds the longest is laid down."""
    assert (await chosen(Options(lay_down=True, discard=["2C"]))).lay_down.cards == ["3C", "4C", "5C", "6C"]


async def test_lays_off() -> None:
    """What fits on the table is laid off, at an end that was offered."""
    place = Options.LayOffPlace(meld=1, card="AS", ends=[END_LOW])
    expected = Action(lay_off=Action.LayOff(meld=1, cards=["AS"], end=END_LOW))
    assert await chosen(Options(lay_off=[place], discard=["AS"])) == expected


async def test_discards_the_dearest_stranger() -> None:
    """The highest card that goes with no other is discarded; a joker last of all."""
    hand = ("KC", "KD", "9H", "8H", "JS", "4D", "JK")
    assert (await chosen(Options(discard=hand), *hand)).discard.card == "JS"
    assert (await chosen(Options(discard=["KC", "9H", "JK"]), *hand)).discard.card == "KC"
    assert (await chosen(Options(discard=["JK"]), *hand)).discard.card == "JK"


async def test_does_what_is_left() -> None:
    """Where nothing else is offered, the first legal action is taken."""
    assert (await chosen(Options())).HasField("lay_down")
