/** What changes sessions in Redis, one step each. The index: members by the time at which their records are to be asked for. */
import { luaNow, Script } from '../redis/script.ts'

/** How long (ms) an index is kept that nobody adds to. */
const unusedMs = 7 * 24 * 3_600_000

/** KEYS: index, that of the group. ARGV: member, milliseconds until its record is asked for, caps in all and of the group. */
export const reserve = new Script(`${luaNow}
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 'known' end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 'full' end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then return 'group-full' end
local at = now() + ARGV[2]
redis.call('ZADD', KEYS[1], at, ARGV[1])
redis.call('ZADD', KEYS[2], at, ARGV[1])
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ${unusedMs}) end
return 'reserved'
`)

/** KEYS: index, that of the group. ARGV: member. */
export const unreserve = new Script(
  `
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
`,
  'allow-oom'
)

/** KEYS: index. ARGV: how many at most. Gives the members to ask for. */
export const due = new Script(
  `${luaNow}
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[1])
`,
  'no-writes'
)

/** KEYS: index. ARGV: member, what is behind its key in that of its group, milliseconds that its record has left (below 0: gone); and so on. */
export const settle = new Script(
  `${luaNow}
for i = 1, #ARGV, 3 do
  local group = KEYS[1] .. ARGV[i + 1]
  local left = tonumber(ARGV[i + 2])
  if left < 0 then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('ZREM', group, ARGV[i])
  else
    redis.call('ZADD', KEYS[1], 'XX', now() + left + 1, ARGV[i])
    redis.call('ZADD', group, 'XX', now() + left + 1, ARGV[i])
  end
end
`,
  'allow-oom'
)

/** KEYS: record. ARGV: how it must begin, the next one. Gives whether it did. */
export const replace = new Script(`
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
`)
