"""What the demo shows of a table, on a terminal and elsewhere."""

import io

from rich.console import Console
from rummy.v1.card_pb2 import MELD_KIND_RUN, MELD_KIND_SET
from rummy.v1.event_pb2 import DealResult, Event, EventBatch
from rummy.v1.game_pb2 import Game

from clients.demo.screen import Screen

GAME = Game(version=1, seats=[Game.Seat(display_name="Ada"), Game.Seat(display_name="Ben")])
DEAL = [
    Event(deal_started=Event.DealStarted(deal=1, dealer=1, card_counts=[7, 7], up_card="TH", stock_size=37)),
    Event(turn_started=Event.TurnStarted(seat=0, round=1)),
    Event(drew=Event.Drew(seat=0, count=1)),
    Event(laid_down=Event.LaidDown(seat=0, meld=0, kind=MELD_KIND_SET, cards=["7C", "7D", "7S"])),
    Event(discarded=Event.Discarded(seat=0, card="KD")),
    Event(turn_started=Event.TurnStarted(seat=1, round=1)),
    Event(took_pile=Event.TookPile(seat=1, cards=["KD"])),
    Event(laid_down=Event.LaidDown(seat=1, meld=1, kind=MELD_KIND_RUN, cards=["3H", "JK", "5H"])),
    Event(laid_off=Event.LaidOff(seat=1, meld=0, high=["7H"])),
    Event(joker_swapped=Event.JokerSwapped(seat=1, meld=1, card="4H", place=1)),
    Event(seat_out=Event.SeatOut(seat=1)),
    Event(
        deal_ended=DealResult(
            deal=1, reason=DealResult.REASON_OUT, winners=[1], deal_scores=[0, 42], scores=[0, 42], seed="00"
        )
    ),
]


def shown(console: Console) -> str:
    """What a screen prints of a deal, each event a version."""
    with Screen(console, "basic") as screen:
        screen.hear(GAME)
        for version, event in enumerate(DEAL, 2):
            screen.hear(EventBatch(version=version, events=[event]))
        screen.rest()
        screen.check("something holds", [])
        screen.check("something else does", ["no, it does not"])
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_in_a_pipe() -> None:
    """A line a turn, the table at the end of a deal, and no escape codes."""
    said = shown(Console(file=io.StringIO(), width=80, highlight=False, soft_wrap=True))
    assert "\x1b" not in said
    assert said == (
        "   1  Ada    draws, lays down 7♣ 7♦ 7♠, discards K♦\n"
        "   1  Ben    takes K♦, lays down 3♥ JK 5♥, lays off 7♥, takes a joker for 4♥, is out\n"
        "╭─ basic · deal 1 · round 1 ──────────────╮\n"
        "│    Ada   0  ▮▮▮▮  4     stock 36        │\n"
        "│    Ben  42  ▮▮▮▮  out   pile  10♥  of 1 │\n"
        "│ = 7♣ 7♦ 7♠ 7♥   - 3♥ 4♥ 5♥              │\n"
        "╰─────────────────────────────────────────╯\n"
        "Deal 1: Ben went out; Ben +42; totals: Ada 0, Ben 42\n"
        "  ✓ something holds\n"
        "  ✗ something else does\n"
        "      no, it does not\n"
    )


def test_on_a_terminal() -> None:
    """The table stays under the turns, in colours, and the cursor comes back."""
    said = shown(Console(file=io.StringIO(), width=80, force_terminal=True, highlight=False, color_system="standard"))
    assert said.count("nothing is laid down") >= 3
    assert "\x1b[31m7♥" in said
    assert said.index("\x1b[?25l") < said.index("\x1b[?25h") < said.index("something holds")


def test_without_suits() -> None:
    """Where suits cannot be shown, cards are letters and the table is drawn in ASCII."""
    said = shown(Console(file=_Ascii(), width=80, highlight=False, soft_wrap=True))
    assert said.isascii()
    assert "lays down 7C 7D 7S" in said
    assert "+- basic - deal 1 - round 1 -" in said


class _Ascii(io.StringIO):
    encoding = "ascii"
