from service.recent import Recent


def test_what_was_put_last_is_remembered() -> None:
    """Beyond its size a memory forgets what was put longest ago; to put a thing again makes it the newest."""
    memory = Recent[str, int](2)
    for number, key in enumerate("abac"):
        memory.put(key, number)
    assert [memory.get(key) for key in "abc"] == [2, None, 3]
    assert [key in memory for key in "abc"] == [True, False, True]
    assert len(memory) == 2


def test_what_is_forgotten_is_gone() -> None:
    """A key that is forgotten is known no longer; to forget what was never known does nothing."""
    memory = Recent[str, int](2)
    memory.put("a", 1)
    memory.forget("a")
    memory.forget("b")
    assert memory.get("a") is None
