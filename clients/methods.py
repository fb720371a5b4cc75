"""What is known of a call by its request, whichever way it is spoken.

method_of(request)                     its method, by the descriptors that the messages carry; no two take the same
headers_of(request, token, api_key)    who calls, as gRPC's metadata or HTTP's headers
timeout_of(request)                    how long it may take
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1 import rule_set_service_pb2 as rules_pb

__all__ = ["KEYED", "METHODS", "headers_of", "method_of", "timeout_of"]

METHODS: Final[Mapping[str, MethodDescriptor]] = MappingProxyType(
    {
        method.input_type.full_name: method
        for file in (pb.DESCRIPTOR, rules_pb.DESCRIPTOR)
        for service in file.services_by_name.values()
        for method in service.methods
    }
)
"""Every method of the API, by the full name of its request's message."""

KEYED: Final = (pb.CreateGameRequest, pb.QuickJoinRequest)
"""What may create a table, which a server may want an API key for. No other call shows the key."""

_TIMEOUT_S: Final = 10.0


def method_of(request: Message) -> MethodDescriptor:
    """The method that takes such a request."""
    return METHODS[request.DESCRIPTOR.full_name]


def headers_of(request: Message, token: str, api_key: str) -> dict[str, str]:
    """What tells the server who calls: a seat by its token, and one who may create tables by his key."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if api_key and isinstance(request, KEYED):
        headers["x-api-key"] = api_key
    return headers


def timeout_of(request: Message) -> float:
    """How many seconds without an answer a call may take: more where it asks the server to wait."""
    return _TIMEOUT_S + (request.wait.seconds if isinstance(request, pb.ListEventsRequest) else 0)
