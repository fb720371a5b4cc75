-- Ask behind it whether replicas have a game as it is now: their word covers only what this connection writes, so this
-- writes something that changes nothing.
--
-- KEYS  1 game (hash)

local mark = redis.call('HGET', KEYS[1], 'commit')
if mark then redis.call('HSET', KEYS[1], 'commit', mark) end
return {'confirmed'}
