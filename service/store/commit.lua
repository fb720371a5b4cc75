-- One commit: the table's next version, its batch, and all that goes with them, or none of it.
--
-- KEYS  1 game (hash)  2 history (stream)  3 open tables (zset)  4 what falls due (zset)  5 record (list)
--       6 code (string)  7 open tables that are alike (zset)  8 to 11 tables by phase (zsets)
-- ARGV  1 version expected; 0: the game must not exist       2 the version to be written: one more
--       3 table   4 batch   5 mark of this commit
--       6 request field, or ''   7 fingerprint of the request
--       8 channel   9 lifetime in ms   10 entries to keep in the history
--       11 member for the indexes of open tables   12 whether it is one ('1' or '0')
--       13 the game's id, which stands for it where something falls due   14 when it does, in ms, or ''
--       15 whether replicas are waited for behind the script ('1' or '0')
--       16 mark of the version expected, or '': any
--       17 whether the table has a code ('1' or '0')
--       18 the free seats, by which it stands among those that are alike, or ''
--       19 the number of the table's phase, from 1          20 when the table expires, in ms
--       21 whether the call is sent again, its answer having been lost ('1' or '0')
--       22 and on: lines to add to the record
--
-- Answers {'committed'} | {'answered', '<version>:<fingerprint>'} | {'conflict', table} | {'unknown'} | {'gone'} |
-- {'code_taken'}.
-- Anything that may fail comes before the first write, or is the first write: a script is not rolled back.

local stored = redis.call('HMGET', KEYS[1], 'version', 'commit', 'phase')
local version = stored[1] or '0'

-- What an earlier call wrote is answered again. The replicas' word covers only what this connection writes: so it writes
-- something after it, which changes nothing.
local function again(answer)
  if ARGV[15] == '1' then redis.call('HSET', KEYS[1], 'commit', stored[2]) end
  return answer
end

-- The same call, sent again because the connection was lost before its answer came.
if stored[2] == ARGV[5] then return again({'committed'}) end

if ARGV[6] ~= '' then
  local answer = redis.call('HGET', KEYS[1], ARGV[6])
  if answer then return again({'answered', answer}) end
end

-- Another version may have the number of the one that was decided on: where a master has taken over that missed that one,
-- or a game was lost and created anew.
if version ~= ARGV[1] or (ARGV[16] ~= '' and stored[2] ~= ARGV[16]) then
  if version == '0' then return {'gone'} end
  -- What is sent again may have been made, and others have followed it: then it stands in the history. Where that is not
  -- kept any more nobody can tell; a game that is to be created was there before.
  if ARGV[21] == '1' then
    local made = redis.call('XRANGE', KEYS[2], ARGV[2] .. '-0', ARGV[2] .. '-0')[1]
    if made and made[2][2] == ARGV[4] then return again({'committed'}) end
    if not made and ARGV[1] ~= '0' and tonumber(version) >= tonumber(ARGV[2]) then return {'unknown'} end
  end
  return {'conflict', redis.call('HGET', KEYS[1], 'table')}
end

-- An index would keep the entries of expired games that nobody meets: so each new one looks at two others by chance. With
-- that no more than about half of an index can be of expired games.
local function tidy(index)
  local others = string.sub(KEYS[1], 1, -#ARGV[13] - 1)
  for _, member in ipairs(redis.call('ZRANDMEMBER', index, 2)) do
    if redis.call('EXISTS', others .. string.match(member, ':(.*)')) == 0 then redis.call('ZREM', index, member) end
  end
end

local coded = ARGV[17] == '1'
if version == '0' then
  local holder = coded and redis.call('GET', KEYS[6])
  if holder and holder ~= ARGV[13] then return {'code_taken'} end
  redis.call('HSET', KEYS[1], 'commit', ARGV[5])  -- refused where memory is full, as DEL is not, nor all that follows it
  redis.call('DEL', KEYS[2], KEYS[5])
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[10], ARGV[2] .. '-0', 'batch', ARGV[4])
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'table', ARGV[3], 'commit', ARGV[5], 'phase', ARGV[19])
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], ARGV[6], ARGV[2] .. ':' .. ARGV[7]) end
for line = 22, #ARGV do redis.call('RPUSH', KEYS[5], ARGV[line]) end
redis.call('PEXPIRE', KEYS[1], ARGV[9])
redis.call('PEXPIRE', KEYS[2], ARGV[9])
redis.call('PEXPIRE', KEYS[5], ARGV[9])
if coded then redis.call('SET', KEYS[6], ARGV[13], 'PX', ARGV[9]) end

if ARGV[12] == '1' then redis.call('ZADD', KEYS[3], 0, ARGV[11]) else redis.call('ZREM', KEYS[3], ARGV[11]) end
if ARGV[18] ~= '' then
  redis.call('ZADD', KEYS[7], ARGV[18], ARGV[11])
  redis.call('PEXPIRE', KEYS[7], ARGV[9])
else
  redis.call('ZREM', KEYS[7], ARGV[11])
end
if version == '0' and ARGV[12] == '1' then
  tidy(KEYS[3])
  if ARGV[18] ~= '' then tidy(KEYS[7]) end
end
if ARGV[14] ~= '' then redis.call('ZADD', KEYS[4], ARGV[14], ARGV[13]) else redis.call('ZREM', KEYS[4], ARGV[13]) end

if stored[3] and stored[3] ~= ARGV[19] then redis.call('ZREM', KEYS[7 + stored[3]], ARGV[13]) end
redis.call('ZADD', KEYS[7 + ARGV[19]], ARGV[20], ARGV[13])

redis.call('SPUBLISH', ARGV[8], ARGV[4])
return {'committed'}
