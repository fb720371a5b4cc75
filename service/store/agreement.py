"""Agreement on one value among all servers: the first that is proposed stands, until it is replaced."""

from pathlib import Path
from typing import Final, cast

from service.store.link import Link

__all__ = ["Agreement"]

_SCRIPT: Final = Path(__file__).with_name("agree.lua").read_text("utf-8")


class Agreement:
    """What agrees over a link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._script = link.client.register_script(_SCRIPT)

    async def reach(self, key: str, proposed: str, instead_of: str, lifetime_ms: int) -> str:
        """What is agreed on: `proposed`, where nothing was, or `instead_of`; else what was.

        It is forgotten after `lifetime_ms`.
        """
        arguments: list[str | bytes | int] = [proposed, instead_of, lifetime_ms]
        found = cast(list[bytes], await self._link.run("agree", self._script, [key], arguments))
        return found[0].decode()

    async def reached(self, key: str) -> str | None:
        """What is agreed on; None: nothing."""
        found = cast(bytes | None, await self._link.call("agreed", [key], lambda: self._link.client.get(key)))
        return None if found is None else found.decode()
