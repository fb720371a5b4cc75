from load.news import Due


def test_news_is_timed_from_when_its_act_was_due() -> None:
    """Each stream of another seat, or of a spectator, counts the time from when the act was due; its own does not."""
    told = list[float]()
    due = Due(told.append)
    due.sent("games/a", 7, 10.0, "actor")
    due.made("games/a", 7)
    due.told("games/a", 7, "actor", 0.0, 11.0)
    due.told("games/a", 7, "other", 0.0, 12.0)
    due.told("games/a", 7, "", 0.0, 13.0)
    due.told("games/b", 7, "", 0.0, 14.0)
    due.told("games/a", 8, "", 0.0, 15.0)
    assert told == [2.0, 3.0]


def test_news_that_is_quicker_than_the_answer_counts_when_that_comes() -> None:
    """A version that a stream tells before its act is answered counts once it is known to be that act's, or never."""
    told = list[float]()
    due = Due(told.append)
    for version in (7, 8):
        due.sent("games/a", version, 10.0, "actor")
        due.told("games/a", version, "other", 0.0, 12.0)
    assert told == []
    due.lost("games/a", 8)
    due.made("games/a", 7)
    due.made("games/a", 8)
    due.told("games/a", 8, "other", 0.0, 13.0)
    assert told == [2.0]


def test_what_was_due_before_a_stream_was_asked_for_is_no_news() -> None:
    """A stream that is resumed is told of what it has missed, which says nothing of how quick the service is."""
    told = list[float]()
    due = Due(told.append)
    due.sent("games/a", 7, 10.0, "actor")
    due.made("games/a", 7)
    due.told("games/a", 7, "other", 10.5, 12.0)
    assert told == []


def test_acts_whose_news_never_comes_are_forgotten() -> None:
    """Of ten thousand acts the oldest gives way to the next: a crowd that plays for long fills no memory."""
    told = list[float]()
    due = Due(told.append)
    for version in range(10_001):
        due.sent("games/a", version, 1.0, "actor")
        due.made("games/a", version)
    for version in (0, 1, 10_000):
        due.told("games/a", version, "other", 0.0, 2.0)
    assert told == [1.0, 1.0]
