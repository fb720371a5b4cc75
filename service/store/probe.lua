-- Whether a shard would take a commit: this writes as one does, and is refused for the same reasons.
--
-- KEYS  1 probe (string)
-- ARGV  1 lifetime in ms

redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
return {'written'}
