"""A REST front over handlers that a test decides on."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from service.api.calls import Caller, Calls, StreamHandler, UnaryHandler
from tests.service.api.fronts import new_app
from tests.service.api.rest.messages import SERVICES


@dataclass
class Backend:
    """What stands in for the use cases: it keeps every request, and answers as the test says.

    `answers` maps a method's name to a message, an error to raise, or for a stream a list of both; by default an answer
    is empty.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    seen: list[tuple[str, Any, Caller]] = field(default_factory=list)
    ready: bool = True

    def calls(self) -> Calls:
        """Every method of the API, answered by this object."""
        return Calls(
            {service: {method.name: self._handler(method) for method in service.methods} for service in SERVICES}
        )

    def _handler(self, method: MethodDescriptor) -> UnaryHandler | StreamHandler:
        async def unary(request: Message, caller: Caller, /) -> Message:
            self.seen.append((method.name, request, caller))
            answer = self.answers.get(method.name, message_factory.GetMessageClass(method.output_type)())
            if isinstance(answer, Exception):
                raise answer
            return answer  # type: ignore[no-any-return]

        async def stream(request: Message, caller: Caller, /) -> AsyncGenerator[Message]:
            self.seen.append((method.name, request, caller))
            for answer in self.answers.get(method.name, []):
                if isinstance(answer, Exception):
                    raise answer
                yield answer

        return stream if method.server_streaming else unary


@pytest.fixture
def backend() -> Backend:
    """The use cases' stand-in."""
    return Backend()


@pytest.fixture
async def client(backend: Backend) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole application, in the same process."""
    app = new_app(
        backend.calls(), ready=lambda: backend.ready, cors_origins=["https://table.example"], max_body_bytes=2000
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://rummyd") as http:
        yield http
