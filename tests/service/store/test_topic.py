"""A topic: when it passes a batch on, and when it is behind."""

from msgspec.structs import replace

from service.store.codec import decode_batch, encode_batch
from service.store.errors import HistoryLost, StoreError
from service.store.history import Cursor, Fresh
from service.store.table import Table
from service.store.topic import Topic
from service.store.watch import Watch
from tests.service.store.tables import batch_of, following, new_table


class Recorder(Watch):
    """A watch that keeps the versions put to it."""

    def __init__(self) -> None:
        self.versions: list[int] = []

    def put(self, batch: object) -> bool:
        self.versions.append(batch.version)  # type: ignore[attr-defined]
        return True

    def end(self, reason: StoreError) -> None:
        """The topic keeps the reason, too."""


def encoded(version: int, line: str = "a") -> bytes:
    """The batch of a version, in one or another line of marks."""
    table: Table = new_table()
    while table.version < version:
        table = following(table)
    return encode_batch(replace(batch_of(table), mark=mark_of(version, line), before=mark_of(version - 1, line)))


def mark_of(version: int, line: str = "a") -> bytes:
    return f"{line}{version}".encode()


def fresh(last: int, *versions: int, line: str = "a") -> Fresh:
    """A history that has been read: the game's version, and these batches."""
    return Fresh(last, tuple(encoded(version, line) for version in versions), mark_of(last, line))


def topic_at(version: int) -> tuple[Topic, list[int]]:
    """A topic that has passed on this version, and the versions that it passes on from now on."""
    topic, recorder = Topic("game", "channel", "node"), Recorder()
    topic.watches.add(recorder)
    topic.take(fresh(version))
    return topic, recorder.versions


def test_the_next_version_is_passed_on() -> None:
    """A batch that follows the last one is passed on as it is heard."""
    topic, passed_on = topic_at(5)
    topic.hear(encoded(6))
    topic.hear(encoded(7))
    assert (passed_on, topic.version, topic.behind) == ([6, 7], 7, False)


def test_a_version_before_is_passed_over() -> None:
    """A batch that is heard late or twice changes nothing."""
    topic, passed_on = topic_at(5)
    for version in (5, 4, 1):
        topic.hear(encoded(version))
    assert (passed_on, topic.version, topic.behind) == ([], 5, False)


def test_after_a_gap_nothing_is_passed_on_until_it_is_read() -> None:
    """A batch beyond the next puts the topic behind; all from the gap on comes from the history, in order."""
    topic, passed_on = topic_at(5)
    topic.hear(encoded(8))
    topic.hear(encoded(9))
    assert (passed_on, topic.behind) == ([], True)
    assert topic.cursor() == Cursor("game", 5)
    topic.take(fresh(9, 6, 7, 8, 9))
    assert (passed_on, topic.behind) == ([6, 7, 8, 9], False)


def test_what_is_heard_while_the_history_is_read_is_read_next() -> None:
    """A batch that is committed after the history was read, but heard before that arrives, keeps the topic behind."""
    topic, passed_on = topic_at(5)
    topic.behind = True
    topic.cursor()
    topic.hear(encoded(7))
    topic.take(fresh(6, 6))
    assert (passed_on, topic.behind) == ([6], True)
    assert topic.cursor() == Cursor("game", 6)
    topic.take(fresh(7, 7))
    assert (passed_on, topic.behind) == ([6, 7], False)


def test_a_page_that_is_not_all_keeps_the_topic_behind() -> None:
    """Where the game is further than the batches that were read, the rest is read next."""
    topic, passed_on = topic_at(5)
    topic.take(fresh(9, 6, 7))
    assert (passed_on, topic.behind) == ([6, 7], True)


def test_the_first_reading_passes_nothing_on() -> None:
    """A new topic takes the game's version as it is; what was heard before counts only where it lies beyond."""
    topic = Topic("game", "channel", "node")
    topic.hear(encoded(3))
    topic.cursor()
    topic.take(fresh(3))
    assert (topic.version, topic.behind) == (3, False)


def test_a_version_that_follows_another_is_not_passed_on() -> None:
    """A batch of the next number that follows another version than the last one ends the topic, once that is read."""
    topic, passed_on = topic_at(5)
    topic.hear(encoded(6, "b"))
    assert (passed_on, topic.behind) == ([], True)
    topic.take(fresh(6, 6, line="b"))
    assert passed_on == []
    assert isinstance(topic.ended, HistoryLost)


def test_another_version_of_the_same_number_ends_the_topic() -> None:
    """Where the game, read again, is at the number that was passed on, but by another commit, that version was lost."""
    topic, _ = topic_at(5)
    topic.take(fresh(5))
    assert topic.ended is None
    topic.take(fresh(5, line="b"))
    assert isinstance(topic.ended, HistoryLost)


def test_versions_without_marks_are_told_apart_by_their_numbers() -> None:
    """What an older release has written, which drew no marks, is passed on in order."""
    topic, passed_on = topic_at(5)
    bare = encode_batch(replace(decode_batch(encoded(6)), mark=b"", before=b""))
    topic.hear(bare)
    topic.take(Fresh(6, (), b"any"))
    topic.hear(encoded(7, "b"))
    assert (passed_on, topic.ended) == ([6, 7], None)
