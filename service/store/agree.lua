-- Agreement on one value: the first that is proposed stands, until somebody proposes another instead of it.
--
-- KEYS  1 what is agreed on (string)
-- ARGV  1 the value proposed   2 the value that it is to replace, or ''   3 lifetime in ms
--
-- Answers {what stands}. It is written each time, so that the replicas' word covers it, and its lifetime begins anew.

local stands = redis.call('GET', KEYS[1])
if not stands or stands == ARGV[2] then stands = ARGV[1] end
redis.call('SET', KEYS[1], stands, 'PX', ARGV[3])
return {stands}
