"""What a server does beside its calls goes on, whatever goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, get_args

import structlog

from service.observability import metrics

__all__ = ["survived"]

Work = Literal["clock", "pulse", "census", "feed"]

_log: Final = structlog.get_logger(__name__)

for _each in get_args(Work):
    metrics.background_faults.labels(_each)  # shown before the first


@contextmanager
def survived(work: Work) -> Iterator[None]:
    """An unforeseen fault of this work is logged and counted, and ends what stands inside, and nothing else."""
    try:
        yield
    except Exception:  # noqa: BLE001  whatever it is, the next try may go well
        metrics.background_faults.labels(work).inc()
        _log.exception("background_fault", work=work)
