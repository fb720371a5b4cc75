"""Why a use case refuses, apart from the rules of the game (`engine.errors`).

GameError(reason, text, metadata)    the reasons are those of `rummy.v1.ErrorReason`
"""

from collections.abc import Mapping

__all__ = ["GameError"]


class GameError(Exception):
    """A use case cannot do what it was asked. Nothing has changed.

    `reason` names the case, `text` is a sentence for a developer, `metadata` what a program may want to know of it.
    """

    def __init__(self, reason: str, text: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text, self.metadata = reason, text, dict(metadata or {})
