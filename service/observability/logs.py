"""How rummyd logs: structlog, one JSON object a line, or coloured text for a person.

Lines of the standard library's logging (grpc, uvicorn, redis) go the same way, and no line may carry a secret.
"""

import logging
import sys
from functools import lru_cache
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from service.observability.account import add_call

__all__ = ["HIDDEN", "configure", "hide_secrets"]

HIDDEN: Final = "[hidden]"
"""What stands in a line in place of a secret."""


def configure(*, json: bool, level: str, instance: str, stream: TextIO = sys.stderr) -> None:
    """Sets up logging for the process: lines of `level` (debug, info, warning, error) and above go to `stream`.

    `instance` is the server's name among others of its kind; it is in each JSON line.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_call,
        structlog.stdlib.add_logger_name,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    after: list[Processor] = [hide_secrets, *(_json(instance) if json else _console(colors=stream.isatty()))]
    structlog.configure(
        processors=[*before, *after],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda name="rummyd": _NamedLogger(stream, name),
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *after]
        )
    )
    logging.basicConfig(handlers=[handler], level=number, force=True)
    logging.captureWarnings(capture=True)
    # Libraries say at info what our own lines say better.
    for name in ("asyncio", "grpc", "redis", "uvicorn"):
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def hide_secrets(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """A structlog processor, the last line of defence: no token, seed or card leaves in a log line.

    A value under a key that has one of `_SECRET` as a word is hidden. Values that aren't plain (a state, a message) are
    named by type only, since their text may show a hand.
    """
    for key, value in event.items():
        if key != "exc_info":
            event[key] = HIDDEN if _is_secret(key) else _plain(value)
    return event


_SECRET: Final = frozenset(
    word + ending
    for word in ("authorization", "card", "hand", "password", "secret", "seed", "stock", "token")
    for ending in ("", "s")
)


@lru_cache(maxsize=1024)
def _is_secret(key: str) -> bool:
    return not _SECRET.isdisjoint(key.lower().replace("-", "_").split("_"))


def _plain(value: object) -> object:
    """The value where it is text, a number or None; containers are gone through; of anything else, its type."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(k): HIDDEN if _is_secret(str(k)) else _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return f"<{type(value).__name__}>"


def _json(instance: str) -> list[Processor]:
    def complete(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        """Puts first what every line has, for those who read JSON as it is."""
        first = {key: event.pop(key) for key in ("timestamp", "level", "event") if key in event}
        return {**first, "instance": instance, **event}

    return [structlog.processors.format_exc_info, complete, structlog.processors.JSONRenderer()]


def _console(*, colors: bool) -> list[Processor]:
    # Not the default way to show exceptions: it prints every local variable, hands among them.
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


class _NamedLogger(structlog.WriteLogger):
    """Writes lines, and knows the name that it was made for."""

    def __init__(self, stream: TextIO, name: str) -> None:
        super().__init__(stream)
        self.name = name
