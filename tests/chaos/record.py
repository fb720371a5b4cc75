"""What the clients of one table keep while things break: what they sent, what they were told, and what they watched."""

from dataclasses import dataclass, field

from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game


@dataclass
class Ask:
    """One act as its player meant it, by its request id: sent any number of times, it may be done once.

    `answers` holds each acknowledgement. `refused` is an error that no retry can change; `given_up` one that a retry
    might have, after all patience. With none of the three, nobody knows what became of it.
    """

    request_id: str
    seat: int
    expected_version: int
    answers: list[pb.ActResponse] = field(default_factory=list)
    refused: str | None = None
    given_up: str | None = None

    @property
    def versions(self) -> set[int]:
        """The versions that acknowledgements have named."""
        return {answer.version for answer in self.answers}


@dataclass
class Watched:
    """What one watcher was told, in order; `seat` is None for a spectator. `resumed`: how often its stream was lost."""

    seat: int | None
    told: list[Game | EventBatch] = field(default_factory=list)
    resumed: int = 0


@dataclass
class TableRecord:
    """All that is kept of one table. `tokens` are by player's seat; `repeated`: sends beyond the first of a request.

    `calls` are those beside acts that make a version of a seat, by their request ids: to leave, and to come back.
    """

    name: str = ""
    tokens: list[str] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    left: int | None = None
    """The seat whose player has left."""
    watched: list[Watched] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What was seen to be wrong while it was played."""
    repeated: int = 0
    hung_up: int = 0
    slowest_s: float = 0.0
    """The longest that a player waited for an acknowledgement."""

    @property
    def game(self) -> str:
        """The game's id."""
        return self.name.removeprefix("games/")

    @property
    def acknowledged(self) -> list[Ask]:
        """The acts that were acknowledged."""
        return [ask for ask in self.asks if ask.answers]
