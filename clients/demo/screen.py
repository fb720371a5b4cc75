"""The table on a screen: one line a turn, and under it, on a terminal, the table as it stands.

Where the output goes to a file or a pipe, the table is drawn now and then instead.
"""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text
from rummy.v1.card_pb2 import MELD_KIND_SET
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from clients.demo.story import Story, Turn, deal_in_words
from clients.demo.table import Table

__all__ = ["Screen"]

_SUITS: Final = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}
_COLOURS: Final = {"C": "green", "D": "blue", "H": "red", "S": "bold", "K": "magenta"}
_DRAWN_EVERY: Final = 4
"""Rounds from one drawing of the table to the next, where it does not stay on the screen."""


class Screen:
    """Shows a match to a person. It hears what a spectator hears, and draws nothing else."""

    def __init__(self, console: Console, title: str) -> None:
        self._console, self._title = console, title
        self._pretty = console.encoding.lower().startswith("utf")
        self._table, self._story = Table(), Story()
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._drawn_at = (0, 0)

    def hear(self, news: Game | EventBatch) -> None:
        """Shows a snapshot, or the next version."""
        self._table.hear(news)
        if isinstance(news, EventBatch):
            names = [place.name for place in self._table.places]
            for event in news.events:
                if turn := self._story.hear(event):
                    self._print_turn(names[turn.seat], turn)
                if event.HasField("deal_ended"):
                    self._end_deal()
        self._draw()

    def rest(self) -> None:
        """Leaves the table as it stands: from here on there are only lines."""
        if self._live:
            self._live.stop()

    def say(self, text: str, style: str = "") -> None:
        """Prints a line of the demo's own."""
        self._console.print(Text(text, style=style))

    def check(self, name: str, faults: Sequence[str]) -> None:
        """Prints what was checked, and each fault that was found."""
        mark = ("✓" if self._pretty else "ok") if not faults else ("✗" if self._pretty else "WRONG")
        self._console.print(Text.assemble((f"  {mark} ", "bold red" if faults else "bold green"), name))
        for fault in faults[:5]:
            self._console.print(Text(f"      {fault}", style="red"))

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    def _print_turn(self, name: str, turn: Turn) -> None:
        deeds = [Text(deed.words + " " if deed.cards else deed.words) + self._cards(deed.cards) for deed in turn.deeds]
        line = Text.assemble((f"{turn.round:>4}  ", "dim"), (f"{name:<6} ", "bold"))
        self._console.print(line + Text(", ").join(deeds))

    def _end_deal(self) -> None:
        result = self._table.last_deal
        if result is None:
            return
        if self._live is None:
            self._console.print(self._panel(), soft_wrap=False)
        names = [place.name for place in self._table.places]
        self._console.print(Text.assemble((f"Deal {result.deal}: ", "bold"), deal_in_words(result, names)))

    def _draw(self) -> None:
        if self._live:
            self._live.update(self._panel(), refresh=True)
            return
        now = (self._table.deal, self._table.round // _DRAWN_EVERY)
        if self._table.round % _DRAWN_EVERY == 0 and now != self._drawn_at and self._table.turn is not None:
            self._drawn_at = now
            self._console.print(self._panel(), soft_wrap=False)

    def _panel(self) -> Panel:
        """The table: seats on the left, stock and pile on the right, melds below."""
        table = self._table
        seats = Grid.grid(padding=(0, 2, 0, 0))
        for number, place in enumerate(table.places):
            seats.add_row(
                Text(("▸" if self._pretty else ">") if number == table.turn else " ", "bold yellow"),
                Text(place.name or "free", "bold" if number == table.turn else ""),
                Text(f"{place.score}", "cyan", justify="right"),
                Text(("▮" if self._pretty else "#") * place.cards, "dim"),
                Text("out" if place.out and table.deal else "void" if place.voided else f"{place.cards}"),
            )
        middle = Grid.grid(padding=(0, 1))
        middle.add_row("stock", Text(str(table.stock_size), "bold"))
        middle.add_row("pile", self._cards(table.pile[-1:]) + Text(f"  of {table.pile_size}" if table.pile else "-"))
        if table.pool:
            middle.add_row("pool", Text(str(table.pool), "bold"))
        across = Grid.grid(padding=(0, 3, 0, 0))
        across.add_row(seats, middle)
        title = f"{self._title} · deal {table.deal} · round {table.round}" if table.deal else self._title
        return Panel(
            Group(across, self._melds()),
            title=title if self._pretty else title.replace("·", "-"),
            title_align="left",
            box=box.ROUNDED if self._pretty else box.ASCII,
            expand=False,
            border_style="dim",
        )

    def _melds(self) -> Text:
        """The melds, as many on a line as there is room for: `=` is a set, `-` a run."""
        lines = [Text()]
        for meld in self._table.melds:
            kind = "= " if meld.kind == MELD_KIND_SET else "- "
            shown = Text.assemble((kind, "dim"), self._cards(meld.cards))
            if lines[-1] and lines[-1].cell_len + 3 + shown.cell_len > self._console.width - 4:
                lines.append(Text())
            lines[-1].append("   " if lines[-1] else "").append_text(shown)
        return Text("\n").join(lines) or Text("nothing is laid down", "dim")

    def _cards(self, cards: Iterable[str]) -> Text:
        text = Text()
        for card in cards:
            shown = card[0].replace("T", "10") + _SUITS[card[1]] if self._pretty and card != "JK" else card
            text.append(" " if text else "")
            text.append(shown, _COLOURS[card[1]])
        return text
