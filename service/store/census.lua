-- How many tables there are of each phase, once those that have expired are left out, and how late what is due is.
--
-- KEYS  1 what falls due (zset)  2 and on: tables by phase (zsets)     ARGV  1 now, in ms
-- Answers for how many ms the first that is due is overdue (0: nothing is), then the numbers, in the order of the keys.

local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local found = {math.max(0, tonumber(ARGV[1]) - tonumber(first[2] or ARGV[1]))}
for number = 2, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[number], 0, ARGV[1])
  found[number] = redis.call('ZCARD', KEYS[number])
end
return found
