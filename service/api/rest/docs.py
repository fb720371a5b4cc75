"""The docs of the API for a browser: Swagger UI over /openapi.json, whole, from this server.

`pages/swagger_ui/` is word for word from version 5.35.0 of the npm package swagger-ui-dist (Apache-2.0). The policy
sent with each file keeps the browser from loading anything from elsewhere, whatever a later version may try.
"""

from pathlib import Path
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

__all__ = ["POLICY", "Docs"]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the docs. Swagger UI sets styles by script, and has its icons in its style sheet."""


class Docs:
    """The ASGI application of the docs."""

    def __init__(self) -> None:
        self._files = StaticFiles(directory=Path(__file__).parent / "pages", html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers with a file of this folder, or with its page."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = POLICY
                headers["x-content-type-options"] = "nosniff"
            await send(message)

        await self._files(scope, receive, guarded)
