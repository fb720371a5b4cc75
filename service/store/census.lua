-- How many tables there are of each phase, once those that have expired are left out.
--
-- KEYS  1 and on: tables by phase (zsets)     ARGV  1 now, in ms
-- Answers the numbers, in the order of the keys.

local found = {}
for number, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, ARGV[1])
  found[number] = redis.call('ZCARD', key)
end
return found
