"""What a client asks of rummyd, whichever way it speaks.

Api          the calls, as the messages of `rummy.v1`: over gRPC (`clients.over_grpc`) or REST (`clients.over_rest`)
CallError    what came instead of an answer, from the server or from the network
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

__all__ = ["Api", "CallError"]


class CallError(Exception):
    """A call that failed. `code` is a name of `google.rpc.Code` (`NOT_FOUND`), `text` a sentence for a developer.

    `reason` and `metadata` are those of the server's `google.rpc.ErrorInfo`, `retry_s` the seconds after which it wants
    to be asked again, if it says so. Where the server could not be reached, the code is UNAVAILABLE or
    DEADLINE_EXCEEDED, and there is no reason; CANCELLED, where it ended with the call under way.
    """

    def __init__(
        self,
        code: str,
        text: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        *,
        retry_s: float = 0.0,
    ) -> None:
        super().__init__(f"{reason or code}: {text}")
        self.code, self.text, self.reason = code, text, reason
        self.metadata = dict(metadata or {})
        self.retry_s = retry_s

    @property
    def worth_a_retry(self) -> bool:
        """Whether the same request, with the same request id, may do better.

        A version that is not the expected one stays so: that wants a new look, and a new request. A limit is over after
        a while; a message that is too large is not.
        """
        if self.code == "RESOURCE_EXHAUSTED":
            return self.reason == "LIMIT_EXCEEDED"
        if self.code == "ABORTED":
            return self.reason != "VERSION_MISMATCH"
        return self.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}


class Api(Protocol):
    """The calls that it takes to play and to watch. `token` is a seat's; without one the caller is a spectator.

    Each raises CallError and nothing else.
    """

    async def create_game(self, request: pb.CreateGameRequest) -> Game:
        """Creates a table."""
        ...

    async def find_game(self, request: pb.FindGameRequest) -> Game:
        """Finds a private table by its code."""
        ...

    async def join_game(self, request: pb.JoinGameRequest) -> pb.JoinGameResponse:
        """Takes a seat."""
        ...

    async def quick_join(self, request: pb.QuickJoinRequest) -> pb.JoinGameResponse:
        """Takes a seat at an open table that fits, or at a new one."""
        ...

    async def add_bot(self, request: pb.AddBotRequest, token: str) -> Game:
        """Puts a bot on a free seat."""
        ...

    async def resume_seat(self, request: pb.ResumeSeatRequest, token: str) -> Game:
        """Takes the seat back from the bot."""
        ...

    async def leave_game(self, request: pb.LeaveGameRequest, token: str) -> Game:
        """Gives up the seat."""
        ...

    async def rematch(self, request: pb.RematchRequest, token: str) -> pb.JoinGameResponse:
        """Takes the seat's place at the table where those who played here play again."""
        ...

    async def get_game(self, request: pb.GetGameRequest, token: str = "") -> Game:
        """Gets a table, as the caller may see it."""
        ...

    async def act(self, request: pb.ActRequest, token: str) -> pb.ActResponse:
        """Plays."""
        ...

    async def list_legal_actions(self, request: pb.ListLegalActionsRequest, token: str) -> pb.ListLegalActionsResponse:
        """Lists what the rules allow the caller now."""
        ...

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        """Lists what has happened at a table after a version, once there is something or `wait` is over."""
        ...

    def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table. Ends when the match does; a stream that breaks off raises."""
        ...
