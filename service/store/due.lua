-- One look at what is due in a shard: who looks claims what he finds, and tells when he was last answered.
--
-- KEYS  1 what falls due (zset)  2 pulse (string): when a look was last answered, as far as that was told
--       3 outages (zset)
-- ARGV  1 now   2 the silence, in ms, above which nobody could have been served
--       3 until when a claim holds   4 the most to claim   5 before when outages are forgotten (all times in ms)
--       6 when the looker's last look was answered, or ''
--
-- Answers {claimed games, outages, pulse}. What is claimed is due again when the claim ends; the commit that does what is
-- due sets its next time, and ends the claim with that.
--
-- That a look has come is no sign of life: one that was given up long ago is still read when a stalled server goes on.

local last = tonumber(redis.call('GET', KEYS[2]) or ARGV[1])
local answered = tonumber(ARGV[6]) or last

if answered - last > tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[3], ARGV[6], string.format('%.0f-%.0f', last, answered))
end
-- Written whether it has changed or not: the replicas' word covers only what this connection writes.
local pulse = string.format('%.0f', math.max(last, answered))
redis.call('SET', KEYS[2], pulse)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[5])

local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[4])
for _, game in ipairs(due) do redis.call('ZADD', KEYS[1], 'XX', ARGV[3], game) end
return {due, redis.call('ZRANGE', KEYS[3], 0, -1), pulse}
