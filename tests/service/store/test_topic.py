"""A topic: when it passes a batch on, and when it is behind."""

from service.store import Table, Watch
from service.store.codec import encode_batch
from service.store.history import Cursor, Fresh
from service.store.topic import Topic
from tests.service.store.tables import batch_of, following, new_table


class Recorder(Watch):
    """A watch that keeps the versions put to it."""

    def __init__(self) -> None:
        self.versions: list[int] = []

    def put(self, batch: object) -> bool:
        self.versions.append(batch.version)  # type: ignore[attr-defined]
        return True


def encoded(version: int) -> bytes:
    """The batch of a version."""
    table: Table = new_table()
    while table.version < version:
        table = following(table)
    return encode_batch(batch_of(table))


def fresh(last: int, *versions: int) -> Fresh:
    """A history that has been read: the game's version, and these batches."""
    return Fresh(last, tuple(encoded(version) for version in versions))


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
