"""`python -m clients.demo`: from the command line to the exit status.

It ends with 0 where the match was played and every check held, else with 1; with 2 for a bad option, and after a
signal with 128 and its number.
"""

import argparse
import asyncio
import io
import signal
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console

try:
    import httpx as _httpx  # noqa: F401  what the client over REST is made with
except ImportError:
    sys.exit("demo: the clients need what rummyd[client] brings: pip install 'rummyd[client]'")

from clients.api import CallError
from clients.demo.match import Options, play_match
from clients.demo.rummyd import StartError
from clients.demo.screen import Screen

GAMES = ("basic", "rummy500", "pool500", "pool300", "pool500-cutthroat")


def main(flags: Sequence[str] | None = None) -> int:
    """Plays the demo as the flags say, and gives the process's exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a suit that a terminal cannot show ends no match
    console = Console(highlight=False, soft_wrap=True)
    parser = _parser()
    said = parser.parse_args(flags)
    if bool(said.grpc) != bool(said.rest):
        parser.error("--grpc and --rest go together: they name one server")
    if said.kill and said.grpc:
        parser.error("--kill kills the server that the demo starts, and --grpc names another")
    pace = said.pace if said.pace is not None else 0.1 if console.is_terminal else 0.0
    options = Options(said.game, said.seats, said.deals, said.kill, pace, said.grpc, said.rest)
    try:
        return asyncio.run(_play(options, console, said.minutes * 60))
    except (KeyboardInterrupt, asyncio.CancelledError) as stopped:
        print("demo: stopped", file=sys.stderr)
        return 128 + (signal.SIGINT if isinstance(stopped, KeyboardInterrupt) else signal.SIGTERM)


async def _play(options: Options, console: Console, limit_s: float) -> int:
    task = asyncio.current_task()
    if task is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    faults: list[str] = []
    well = False
    try:
        async with asyncio.timeout(limit_s):
            with Screen(console, options.game) as screen:
                well = await play_match(options, screen)
    except* TimeoutError:
        faults.append(f"the match did not end within {limit_s / 60:g} minutes; --deals N makes it shorter")
    except* (CallError, StartError) as group:
        faults += _lines(group)
    for line in faults:
        print(f"demo: {line}", file=sys.stderr)
    return 0 if well else 1


def _lines(group: BaseExceptionGroup[CallError | StartError]) -> Iterator[str]:
    """Each error of a group in one line, once."""
    seen = set[str]()
    for error in group.exceptions:
        found = _lines(error) if isinstance(error, BaseExceptionGroup) else [str(error)]
        for line in found:
            if line not in seen:
                seen.add(line)
                yield line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="demo", description="Plays a whole match, over gRPC and REST.")
    add = parser.add_argument
    add("--game", choices=GAMES, default="basic", help="what is played (default: basic)")
    add("--seats", type=int, choices=range(2, 9), default=4, metavar="2-8", help="how many play (default: 4)")
    add("--deals", type=int, default=0, metavar="N", help="end the match after N deals (default: as the game says)")
    add("--kill", action="store_true", help="kill the server in the middle of the match, and start it again")
    add("--pace", type=float, metavar="S", help="seconds before each action (default: 0.1 on a terminal, else 0)")
    add("--minutes", type=float, default=15.0, metavar="M", help="give up after so long (default: 15)")
    add("--grpc", default="", metavar="HOST:PORT", help="play on a server that runs already; needs --rest")
    add("--rest", default="", metavar="URL", help="its REST address, such as http://127.0.0.1:8080")
    return parser


if __name__ == "__main__":
    sys.exit(main())
