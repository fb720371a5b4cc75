from tests import servers


def test_each_server_is_empty_and_takes_a_script_per_hash_tag(store_url: str) -> None:
    """Every server that the store's contract runs on starts empty and runs a script over the keys of one hash tag."""
    with servers.client(store_url) as client:
        assert client.dbsize() == 0
        script = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('append', KEYS[2], ARGV[1])"
        assert client.eval(script, 2, "{tag}a", "{tag}b", "xyz") == 3
