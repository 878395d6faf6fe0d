/**
 * What changes streams in Redis, one step each, its time to live in it.
 *
 * Of each stream: a hash of what is known of it, a Redis stream of its entries (`<number>-0`: `s` size, `d` data, `l` label),
 * and a list of the numbers that are expendable. Of each session: its streams by the time at which they are gone, for
 * the purge. KEYS of every script: hash, entries, expendables, streams of the session. ARGV of every script that writes
 * begins with the channel to wake, the stream's name, and the milliseconds that an open stream lives unused.
 *
 * The hash: `k` kind (`w`: one writer, `p`: posts), `last`, `bytes`, `gone`; of a writer's `op` which opening this is, `cl` how
 * often it was claimed since, `owner`, `facts`, `place`, `ended`; of the one who took it `reader` and `given`.
 */
import { luaNow, Script } from '../redis/script.ts'

const touch = `${luaNow}
local function keep(ms)
  for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ms) end
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now())
  redis.call('ZADD', KEYS[4], now() + ms, ARGV[2])
  if redis.call('PTTL', KEYS[4]) < tonumber(ms) then redis.call('PEXPIRE', KEYS[4], ms) end
end
local function make(kind)
  redis.call('DEL', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'k', kind, 'last', 0, 'bytes', 0, 'gone', 0)
end
local function wake() redis.call('PUBLISH', ARGV[1], 's' .. ARGV[2]) end
`

/** Adds an entry and trims. Its arguments begin at ARGV[at]: data, size, '' or '=' and the label, '1' when expendable, bounds. */
const add = `
local function add(at)
  local data, size, label = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local most, mostBytes = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local number = redis.call('HINCRBY', KEYS[1], 'last', 1)
  local fields = { 's', size, 'd', data }
  if label ~= '' then
    fields[5] = 'l'
    fields[6] = string.sub(label, 2)
  end
  redis.call('XADD', KEYS[2], number .. '-0', unpack(fields))
  local bytes = redis.call('HINCRBY', KEYS[1], 'bytes', size)
  if ARGV[at + 3] == '1' and redis.call('RPUSH', KEYS[3], number) == 1 then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
  local length = redis.call('XLEN', KEYS[2])
  while length > 1 and (length > most or bytes > mostBytes) do
    local expendable = redis.call('LPOP', KEYS[3])
    local from, to = '-', '+'
    if expendable then
      from = expendable .. '-0'
      to = from
    end
    local entry = redis.call('XRANGE', KEYS[2], from, to, 'COUNT', 1)[1]
    redis.call('XDEL', KEYS[2], entry[1])
    bytes = redis.call('HINCRBY', KEYS[1], 'bytes', -tonumber(entry[2][2]))
    if not expendable then redis.call('HSET', KEYS[1], 'gone', string.match(entry[1], '^%d+')) end
    length = length - 1
  end
  if number == 1 or redis.call('PTTL', KEYS[1]) < ARGV[3] / 2 then keep(ARGV[3]) end
  wake()
  return number
end
`

/** Whether this writer may write. ARGV[4] and [5]: its opening, and which claim of it. */
const check = `
local function check()
  local known = redis.call('HMGET', KEYS[1], 'op', 'cl', 'ended', 'owner')
  if known[1] ~= ARGV[4] then return { 'lost' } end
  if known[2] ~= ARGV[5] then return { 'fenced', known[4] } end
  if known[3] then return { 'ended' } end
end
`

/** Then: opening, owner, facts, '' or the place. Gives whether it was made. */
export const open = new Script(`${touch}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
make('w')
redis.call('HSET', KEYS[1], 'op', ARGV[4], 'cl', 0, 'owner', ARGV[5], 'facts', ARGV[6])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'place', ARGV[7]) end
keep(ARGV[3])
wake()
return 1
`)

/** Then: opening, claim, '' or the place, what {@link add} takes. Gives the number, or why not. */
export const append = new Script(`${touch}${add}${check}
local problem = check()
if problem then return problem end
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'place', ARGV[6]) end
return add(7)
`)

/** Then: what {@link add} takes. Gives the number; 0: the stream has one writer. */
export const post = new Script(`${touch}${add}
local kind = redis.call('HGET', KEYS[1], 'k')
if kind == 'w' then return 0 end
if not kind then make('p') end
return add(4)
`)

export const ensure = new Script(`${touch}
if redis.call('EXISTS', KEYS[1]) == 0 then make('p') end
keep(ARGV[3])
`)

/** ARGV: cursor, limit. Gives last, ended, gone, facts, whether more follows, entries, '' or the reader, given; nothing when there is no stream. */
export const read = new Script(
  `
local known = redis.call('HMGET', KEYS[1], 'last', 'ended', 'gone', 'facts', 'reader', 'given')
if not known[1] then return nil end
local limit = tonumber(ARGV[2])
local entries = {}
if tonumber(ARGV[1]) <= tonumber(known[1]) then
  entries = redis.call('XRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '+', 'COUNT', limit + 1)
end
local more = #entries > limit
if more then entries[#entries] = nil end
return {
  tonumber(known[1]), known[2] and 1 or 0, tonumber(known[3]), known[4] or '', more and 1 or 0, entries,
  known[5] or '', tonumber(known[6] or 0)
}
`,
  'no-writes'
)

/** Then: opening, claim, milliseconds that it is kept. Gives 1, or why not. */
export const end = new Script(
  `${touch}${check}
local problem = check()
if problem then return problem end
redis.call('HSET', KEYS[1], 'ended', 1)
keep(ARGV[6])
wake()
return 1
`,
  'allow-oom'
)

/** Then: from whom, to whom. Gives opening, claim, facts, place or '', last; nothing when it is not theirs to give. */
export const claim = new Script(
  `${touch}
local known = redis.call('HMGET', KEYS[1], 'owner', 'ended', 'op', 'facts', 'place', 'last')
if known[1] ~= ARGV[4] or known[2] then return nil end
redis.call('HSET', KEYS[1], 'owner', ARGV[5])
local number = redis.call('HINCRBY', KEYS[1], 'cl', 1)
keep(ARGV[3])
wake()
return { known[3], tostring(number), known[4], known[5] or '', tonumber(known[6]) }
`,
  'allow-oom'
)

/** Then: the reader. Gives whether there is a stream. */
export const take = new Script(`${touch}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'reader', ARGV[4])
wake()
return 1
`)

/** Then: the reader, the last number that it was given. */
export const give = new Script(`${touch}
local known = redis.call('HMGET', KEYS[1], 'reader', 'given')
if known[1] ~= ARGV[4] or tonumber(known[2] or 0) >= tonumber(ARGV[5]) then return end
redis.call('HSET', KEYS[1], 'given', ARGV[5])
`)

/** KEYS: streams of the session. ARGV: the channel to wake, what the keys of its streams begin with. */
export const purge = new Script(
  `
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  for _, kind in ipairs({ 'm', 'e', 'x' }) do redis.call('DEL', ARGV[2] .. kind .. name) end
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], 'p')
`,
  'allow-oom'
)
