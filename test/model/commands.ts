/** What clients, backends and time do to a gateway: each command by itself, with how often it is picked. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import type { Call } from './call.ts'
import type { Script, Step } from './ledger.ts'
import type { Command } from './run.ts'
import { kinds } from './upstreams.ts'
import type { Session, World } from './world.ts'

const mostSessions = 7

const pickSession = (world: World, suits: (session: Session) => boolean = () => true): Session | undefined => {
  const found = world.live.filter(suits)
  return found.length === 0 ? undefined : world.random.pick(found)
}

const pickCall = (
  world: World,
  suits: (call: Call) => boolean
): { readonly session: Session; readonly call: Call } | undefined => {
  const found = world.running.filter(({ call }) => suits(call))
  return found.length === 0 ? undefined : world.random.pick(found)
}

/** Quick and slow ones, with progress small and large, asking where the client can be asked in its call. */
function scriptFor({ random }: World, { upstream }: Session, jsonOnly: boolean): Script {
  const steps: Step[] = []
  const asks = !jsonOnly && (upstream.kind === 'http' || upstream.kind === 'events')
  for (let i = random.below(5); i > 0; i--) {
    const delay = random.pick([0, 0, 1, 3, 10, 30])
    if (asks && random.below(5) === 0) steps.push({ kind: 'ask', delay })
    else steps.push({ kind: 'say', count: 1 + random.below(6), pad: random.pick([0, 0, 10, 500, 9_000]), delay })
  }
  // On a pipe that others wait for, a reader that is far behind may lose progress.
  if (asks && random.below(12) === 0) steps.push({ kind: 'say', count: 300, pad: 1_000, delay: 0 })
  return { steps, end: random.pick(['answer', 'answer', 'answer', 'answer', 'refuse', 'never']) }
}

const pause = ({ random }: World): Promise<unknown> =>
  random.pick([
    () => Promise.resolve(),
    () => new Promise(resolve => setImmediate(resolve)),
    () => sleep(1 + random.below(4))
  ])()

export const commands: readonly Command<World>[] = [
  {
    name: 'open a session',
    weight: 6,
    async run(world) {
      if (world.live.length >= mostSessions) return false
      const kind = world.random.pick([...kinds, 'http', 'events', 'events'] as const)
      const { down, shaky } = world.upstreams.get(kind)!
      if (down || shaky) return false
      return String(await world.open(kind))
    }
  },
  {
    name: 'call',
    weight: 30,
    async run(world) {
      const session = pickSession(world)
      if (session === undefined) return false
      const jsonOnly = world.random.below(8) === 0
      return `${session} ${world.call(session, scriptFor(world, session, jsonOnly), jsonOnly)}`
    }
  },
  {
    name: 'cut a call',
    weight: 12,
    async run(world) {
      const picked = pickCall(
        world,
        ({ phase }) => phase === 'open' || (phase === 'posting' && world.random.below(6) === 0)
      )
      if (picked === undefined) return false
      const { call } = picked
      call.take(world.random.below(call.unread + 1))
      call.cut()
      return String(call)
    }
  },
  {
    name: 'resume a call',
    weight: 16,
    async run(world) {
      const picked = pickCall(world, ({ phase }) => phase === 'cut')
      if (picked === undefined) return false
      await world.resume(picked.session, picked.call, picked.call.lastId!)
      return String(picked.call)
    }
  },
  {
    name: 'resume a call from an earlier event',
    weight: 3,
    async run(world) {
      const picked = pickCall(world, ({ phase, lastId }) => phase === 'cut' && lastId !== undefined)
      if (picked === undefined) return false
      await world.resume(picked.session, picked.call, picked.call.rollBack(count => world.random.below(count))!)
      return String(picked.call)
    }
  },
  {
    name: 'resume a call that is still connected',
    weight: 4,
    async run(world) {
      const picked = pickCall(world, ({ phase }) => phase === 'open')
      if (picked === undefined) return false
      const { session, call } = picked
      call.take(world.random.below(call.unread + 1))
      const { lastId, outcome } = call
      if (lastId === undefined || outcome !== undefined) return false
      await world.resume(session, call, lastId)
      return String(call)
    }
  },
  {
    name: 'read again what was read to its end',
    weight: 2,
    async run(world) {
      const session = pickSession(world)
      const calls = session?.calls.filter(({ phase, lastId }) => phase === 'done' && lastId !== undefined) ?? []
      if (session === undefined || calls.length === 0) return false
      const call = world.random.pick(calls)
      await world.resume(session, call, call.rollBack(count => world.random.below(count))!)
      return String(call)
    }
  },
  {
    name: 'read on',
    weight: 10,
    async run(world) {
      const picked = pickCall(world, ({ unread }) => unread > 0)
      if (picked === undefined) return false
      picked.call.take(1 + world.random.below(picked.call.unread))
      return String(picked.call)
    }
  },
  {
    name: 'cancel',
    weight: 6,
    async run(world) {
      const picked = pickCall(world, ({ cancel }) => cancel === 'no')
      if (picked === undefined) return false
      await world.cancel(picked.session, picked.call)
      return String(picked.call)
    }
  },
  {
    name: 'answer an ask',
    weight: 14,
    async run(world) {
      const open = world.live.flatMap(session =>
        [...session.asks.values()].flatMap(ask => (ask.answered ? [] : [{ session, ask }]))
      )
      if (open.length === 0) return false
      const { session, ask } = world.random.pick(open)
      await world.answer(session, ask.label)
      return ask.label
    }
  },
  {
    name: 'read slowly',
    weight: 4,
    async run(world) {
      const picked = pickCall(world, ({ phase, paused }) => phase === 'open' && !paused)
      picked?.call.pause()
      return picked === undefined ? false : String(picked.call)
    }
  },
  {
    name: 'read the channel slowly',
    weight: 2,
    async run(world) {
      const session = pickSession(world, ({ channel }) => channel.open && !channel.paused)
      session?.channel.pause()
      return session === undefined ? false : String(session)
    }
  },
  {
    name: 'read at full speed',
    weight: 6,
    async run(world) {
      const paused = world.live.flatMap(({ channel, calls }) => [channel, ...calls]).filter(({ paused }) => paused)
      if (paused.length === 0) return false
      world.random.pick(paused).unpause()
      return ''
    }
  },
  {
    name: 'GET: the channel, taken over where it is open',
    weight: 7,
    async run(world) {
      const session = pickSession(world)
      if (session === undefined) return false
      const response = await session.client.get()
      if (response.status !== 200) throw new Error(`GET: ${response.status} ${response.text}`)
      session.channel.opened(response, true)
      return String(session)
    }
  },
  {
    name: 'GET with an event id of the channel',
    weight: 7,
    async run(world) {
      const session = pickSession(world, ({ channel }) => channel.places.length > 0)
      if (session === undefined) return false
      const { channel, client } = session
      const place = world.random.below(3) === 0 ? world.random.pick(channel.places) : channel.places.at(-1)!
      channel.rollBack(place)
      const response = await client.get(place.id)
      if (response.status !== 200) throw new Error(`GET after ${place.id}: ${response.status} ${response.text}`)
      channel.opened(response, false)
      return `${session} ${place.id}`
    }
  },
  {
    name: 'cut the channel',
    weight: 6,
    async run(world) {
      const session = pickSession(world, ({ channel }) => channel.open)
      session?.channel.cut()
      return session === undefined ? false : String(session)
    }
  },
  {
    name: 'broadcast',
    weight: 10,
    async run(world) {
      const kind = world.random.pick(kinds)
      return `${kind} ${await world.broadcast(`/${kind}`, world.random.pick([0, 0, 0, 2_000, 30_000]))}`
    }
  },
  {
    name: 'an event id of another session',
    weight: 1,
    async run(world) {
      const [one, other] = [pickSession(world), pickSession(world)]
      if (one === undefined || other === undefined || one === other) return false
      const ids = [...other.calls.map(({ lastId }) => lastId), ...other.channel.places.map(({ id }) => id)]
      const id = world.random.pick([...ids, 'no such event'])
      if (id === undefined) return false
      const { status } = await one.client.get(id)
      if (status !== 400) throw new Error(`an event id of another session: ${status}`)
      return id
    }
  },
  {
    name: 'ping',
    weight: 3,
    async run(world) {
      const session = pickSession(world)
      if (session === undefined) return false
      const { json } = await session.client.post({ id: 'ping', method: 'ping' })
      if (JSON.stringify(json?.result) !== '{}') throw new Error(`ping: ${JSON.stringify(json)}`)
      return String(session)
    }
  },
  {
    name: 'DELETE',
    weight: 1.2,
    async run(world) {
      const session = pickSession(world)
      if (session === undefined) return false
      // What the session is to have seen up to here is judged when all is over.
      session.alive = false
      const { status } = await session.client.delete()
      if (status !== 204) throw new Error(`DELETE: ${status}`)
      await isGone(session)
      return String(session)
    }
  },
  {
    name: 'the session expires',
    weight: 1,
    async run(world) {
      const idle = ({ calls, channel }: Session): boolean =>
        !channel.open && calls.every(({ phase, record }) => phase === 'done' && record.over)
      const session = pickSession(world, idle)
      if (session === undefined) return false
      session.alive = false
      await world.store.delete(session.client.session!)
      await isGone(session)
      return String(session)
    }
  },
  {
    name: 'the connections to a backend break',
    weight: 0.8,
    async run(world) {
      const upstream = world.upstreams.get(world.random.pick(['http', 'events', 'sse'] as const))!
      world.disturb(upstream)
      upstream.cut()
      await noticed()
      return upstream.kind
    }
  },
  {
    name: 'a backend crashes and is there again',
    weight: 0.8,
    async run(world) {
      const upstream = world.upstreams.get(world.random.pick(['http', 'events', 'sse'] as const))!
      world.disturb(upstream)
      upstream.crash()
      await noticed()
      return upstream.kind
    }
  },
  {
    name: 'a child crashes',
    weight: 0.08,
    async run(world) {
      const upstream = world.upstreams.get(world.random.pick(['stdio', 'shared'] as const))!
      if (upstream.shaky) return false
      world.disturb(upstream)
      upstream.crash()
      await noticed()
      return upstream.kind
    }
  },
  {
    name: 'a backend crashes and stays away',
    weight: 0.4,
    async run(world) {
      const upstream = world.upstreams.get(world.random.pick(['http', 'events'] as const))!
      world.disturb(upstream)
      upstream.down = true
      upstream.crash()
      return upstream.kind
    }
  },
  {
    name: 'a backend is back',
    weight: 3,
    async run(world) {
      const upstream = [...world.upstreams.values()].find(({ down }) => down)
      if (upstream === undefined) return false
      world.disturb(upstream)
      upstream.down = false
      return upstream.kind
    }
  },
  {
    name: 'time passes',
    weight: 6,
    async run(world) {
      await sleep(world.random.below(20))
      return ''
    }
  }
]

/** The gateway sees that connections broke; what is called from then on is none of their business. */
const noticed = (): Promise<unknown> => sleep(10)

async function isGone({ client, channel, calls }: Session): Promise<void> {
  for (const response of [await client.post({ id: 'late', method: 'ping' }), await client.get()]) {
    if (response.status !== 404) throw new Error(`a session that is over answers ${response.status}`)
  }
  channel.unpause()
  for (const call of calls) call.unpause()
  await until('its streams end', () => channel.ended && calls.every(({ ended, phase }) => ended || phase !== 'open'))
}

export { pause }
