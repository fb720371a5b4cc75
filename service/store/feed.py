"""The feed: what is committed to the games that somebody here watches.

There is one subscription a watched game, however many watch it, and one line a node. A message that carries the version
after the last is passed on as it is. In every other case (a new subscription, a line that was lost, a gap between
messages, and every so often in any case) the game is *behind*: until its history has been read, messages only say
that there is more to read. So a watcher sees every version once and in order, whatever the network loses.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from service.store.catchup import CatchUp
from service.store.errors import StoreUnavailable
from service.store.history import Cursor, Fresh, HistoryReader
from service.store.keys import Keys
from service.store.line import Line
from service.store.link import Link
from service.store.topic import Topic
from service.store.watch import Watch

__all__ = ["Feed", "FeedLimits"]


class FeedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Unread batches that a watch may have, seconds to wait for its beginning, seconds between checks of all games."""

    room: int = 256
    subscribe_s: float = 2.0
    check_s: float = 15.0


class Feed:
    """The watches of this process."""

    def __init__(self, link: Link, keys: Keys, reader: HistoryReader, limits: FeedLimits) -> None:
        self._link = link
        self._keys = keys
        self._reader = reader
        self._limits = limits
        self._topics: dict[str, Topic] = {}
        self._channels: dict[str, Topic] = {}
        self._nodes: dict[str, _Node] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @asynccontextmanager
    async def watch(self, game: str, after: int, mark: bytes = b"") -> AsyncIterator[Watch]:
        """The batches of a game above version `after`; see Watch for how it ends.

        With the mark of that version, it ends with HistoryLost where the game's is another of the same number. Raises
        GameGone where there is no such game, and StoreUnavailable where the server cannot be reached now.
        """
        topic = self._topics.get(game) or self._open(game)
        watch = Watch(game, self._limits.room, self._read_one)
        topic.watches.add(watch)
        try:
            current = await topic.current(self._limits.subscribe_s)
            watch.begin(after, mark, current, topic.mark)
            yield watch
        finally:
            topic.watches.discard(watch)
            if not topic.watches:
                self._drop(topic)

    @property
    def closed(self) -> bool:
        """Whether it has been closed: then StoreUnavailable means that this process stops."""
        return self._closed

    async def close(self) -> None:
        """Ends every watch with StoreUnavailable, hangs up every line, and takes no new ones."""
        self._closed = True
        for topic in list(self._topics.values()):
            topic.end(StoreUnavailable("the store is closed"))
            self._drop(topic)
        if self._ending:
            await asyncio.wait(self._ending)

    # What the lines tell (see `line.Listener`).

    def subscribed(self, channel: str) -> None:
        """A channel is heard from now on: what was committed before is to be read."""
        if topic := self._channels.get(channel):
            self._nodes[topic.node].catch_up.add(topic)

    def heard(self, channel: str, data: bytes) -> None:
        """A batch was committed."""
        if topic := self._channels.get(channel):
            topic.hear(data)
            if topic.ended:
                self._drop(topic)
            elif topic.behind:
                self._nodes[topic.node].catch_up.add(topic)

    def lost(self, line: Line) -> None:
        """A session has ended: each of its channels goes to the node that serves it now."""
        for topic in [self._channels[channel] for channel in line.channels]:
            node = self._node_of(topic.channel, otherwise=line.node)
            if node != line.node:
                self._leave(topic)
                self._follow(topic, node)

    # Topics and nodes come and go with the watches.

    def _open(self, game: str) -> Topic:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        channel = self._keys.of(game).feed
        topic = Topic(game, channel, self._link.node_of(channel))
        self._topics[game] = self._channels[channel] = topic
        self._follow(topic, topic.node)
        return topic

    def _follow(self, topic: Topic, node: str) -> None:
        """Follows a game on the node that serves it."""
        topic.node = node
        if node not in self._nodes:
            catch_up = CatchUp(self._reader, self._limits.check_s, self._drop)
            self._nodes[node] = _Node(Line(self._link, node, self), catch_up)
        self._nodes[node].line.add(topic.channel)
        self._nodes[node].catch_up.follow(topic)

    def _leave(self, topic: Topic) -> None:
        """Follows a game no longer on its node; hangs up where it was the last one there."""
        node = self._nodes[topic.node]
        node.line.remove(topic.channel)
        node.catch_up.forget(topic)
        if not node.line.channels:
            del self._nodes[topic.node]
            for task in (node.line.hang_up(), node.catch_up.stop()):
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    def _drop(self, topic: Topic) -> None:
        """Follows a game no longer."""
        if self._topics.get(topic.game) is topic:
            del self._topics[topic.game], self._channels[topic.channel]
            self._leave(topic)

    def _node_of(self, channel: str, otherwise: str) -> str:
        try:
            return self._link.node_of(channel)
        except StoreUnavailable:
            return otherwise

    async def _read_one(self, cursor: Cursor) -> Fresh | None:
        return (await self._reader.fresh([cursor]))[0]


class _Node(msgspec.Struct, frozen=True):
    """What this process has to do with a node that serves a game it watches."""

    line: Line
    catch_up: CatchUp
