-- One look at what is due in a shard: who looks claims what he finds, and notes that he was here.
--
-- KEYS  1 what falls due (zset)  2 pulse (string)  3 outages (zset)
-- ARGV  1 now   2 the silence, in ms, above which nobody could have been served
--       3 until when a claim holds   4 the most to claim   5 before when outages are forgotten (all times in ms)
--
-- Answers {claimed games, outages}. What is claimed is due again when the claim ends; the commit that does what is due
-- sets its next time, and ends the claim with that.

local now = tonumber(ARGV[1])
local last = tonumber(redis.call('GET', KEYS[2]) or ARGV[1])

if now - last > tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[3], ARGV[1], string.format('%.0f-%.0f', last, now))
end
if now >= last then redis.call('SET', KEYS[2], ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[5])

local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[4])
for _, game in ipairs(due) do redis.call('ZADD', KEYS[1], 'XX', ARGV[3], game) end
return {due, redis.call('ZRANGE', KEYS[3], 0, -1)}
