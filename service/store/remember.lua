-- Keep that a request found nothing to do at a version of a game: it is answered by version 0 when it comes again.
--
-- KEYS  1 game (hash)
-- ARGV  1 version, 2 its mark, or '': any   3 request field   4 fingerprint of the request
--
-- Answers {'committed'} | {'answered', '<version>:<fingerprint>'} | {'conflict', table} | {'gone'}, as commit.lua does.

local stored = redis.call('HMGET', KEYS[1], 'version', 'commit', 'table', ARGV[3])
if not stored[1] then return {'gone'} end
if stored[4] then
  redis.call('HSET', KEYS[1], ARGV[3], stored[4])  -- what replicas are asked for is behind what this connection writes
  return {'answered', stored[4]}
end
if stored[1] ~= ARGV[1] or (ARGV[2] ~= '' and stored[2] ~= ARGV[2]) then return {'conflict', stored[3]} end
redis.call('HSET', KEYS[1], ARGV[3], '0:' .. ARGV[4])
return {'committed'}
