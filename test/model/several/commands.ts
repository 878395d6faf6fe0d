/** What happens to a gateway with three backends on one route: each command with how often it is picked. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, wholeList } from '../../helpers/several.ts'
import type { Command } from '../run.ts'
import type { Target } from './member.ts'
import { type BackendName, backendNames, guest, type Script } from './party.ts'
import { mostMembers, type World } from './world.ts'

const flapping = ['f0', 'f1', 'f2', 'f3']

const scriptFor =
  ({ random }: World, asks: boolean) =>
  (_: Target): Script => ({
    says: random.pick([0, 0, 0, 1, 3]),
    asks: asks && random.below(6) === 0 ? 1 : 0,
    delay: random.pick([0, 0, 1, 5, 40]),
    end: random.pick(['answer', 'answer', 'answer', 'answer', 'answer', 'refuse', 'never'])
  })

/** `forgets`: it crashes, and its memory is gone too. */
async function broken(world: World, forgets: boolean): Promise<string> {
  const name = world.random.pick(backendNames)
  world.disturb(name)
  world.listsMoved = true
  world.party.break(name, forgets)
  await sleep(10)
  return name
}

export const commands: readonly Command<World>[] = [
  {
    name: 'open a session',
    weight: 6,
    async run(world) {
      if (world.live.length >= mostMembers) return false
      return String(await world.open())
    }
  },
  {
    name: 'call',
    weight: 40,
    async run(world) {
      if (world.live.length === 0) return false
      const member = world.random.pick(world.live)
      return `${member} ${world.call(member, 1, scriptFor(world, !member.batches))}`
    }
  },
  {
    name: 'a batch of calls',
    weight: 6,
    async run(world) {
      const suiting = world.live.filter(({ batches }) => batches)
      if (suiting.length === 0) return false
      const member = world.random.pick(suiting)
      return `${member} ${world.call(member, 2 + world.random.below(4), scriptFor(world, false))}`
    }
  },
  {
    name: 'cancel',
    weight: 8,
    async run(world) {
      const found = world.running.filter(({ call }) => call.cancel === 'no')
      if (found.length === 0) return false
      const { member, call } = world.random.pick(found)
      await world.cancel(member, call)
      return `${member} ${call}`
    }
  },
  {
    name: 'answer an ask',
    weight: 10,
    async run(world) {
      const found = world.live.filter(({ asks }) => asks.length > 0)
      if (found.length === 0) return false
      await world.answer(world.random.pick(found))
      return ''
    }
  },
  {
    name: 'an answer for the ask of another session',
    weight: 2,
    async run(world) {
      const asked = world.live.filter(({ asks }) => asks.length > 0)
      if (asked.length === 0) return false
      const { asks } = world.random.pick(asked)
      const other = world.random.pick(world.live)
      const { id } = asks[0]!
      if (other.asks.some(ask => ask.id === id)) return false
      const { status } = await other.client.post({ id, result: { action: 'accept', content: { uid: 'stolen' } } })
      if (status !== 400) throw new Error(`an answer for another session's ask was taken with ${status}`)
      return String(other)
    }
  },
  {
    name: 'list',
    weight: 8,
    async run(world) {
      if (world.live.length === 0) return false
      const member = world.random.pick(world.live)
      const found = (await wholeList(member.client, 'tools/list')).map(({ name }) => name as string)
      if (new Set(found).size !== found.length) throw new Error(`a name stands twice: ${found}`)
      return `${member} ${found}`
    }
  },
  {
    name: 'the tools of a backend change',
    weight: 4,
    async run(world) {
      const name = world.random.pick(backendNames)
      const flaps = flapping.filter(() => world.random.below(3) === 0)
      world.listsMoved = true
      world.party.catalog(name).change('tools', [`only-${name}`, 'same', ...flaps])
      return `${name} ${flaps}`
    }
  },
  {
    name: 'a backend says that its tools changed, and they did not',
    weight: 2,
    async run(world) {
      const name = world.random.pick(backendNames)
      world.party.catalog(name).tell('notifications/tools/list_changed')
      return name
    }
  },
  {
    name: 'subscribe',
    weight: 6,
    async run(world) {
      if (world.live.length === 0) return false
      const member = world.random.pick(world.live)
      const name = world.random.pick(backendNames)
      if (!world.isUp(name) || world.shaky.has(name)) return false
      const uri = `${name}://${1 + world.random.below(3)}`
      member.everSubscribed.add(uri)
      const { result, error } = await ask(member.client, 'resources/subscribe', { uri })
      if (result === undefined) throw new Error(`subscribe: ${JSON.stringify(error)}`)
      member.subscribed.add(uri)
      return `${member} ${uri}`
    }
  },
  {
    name: 'unsubscribe',
    weight: 3,
    async run(world) {
      const found = world.live.filter(({ subscribed }) => subscribed.size > 0)
      if (found.length === 0) return false
      const member = world.random.pick(found)
      const uri = world.random.pick([...member.subscribed])
      const name = uri[0] as (typeof backendNames)[number]
      if (!world.isUp(name) || world.shaky.has(name)) return false
      const { result, error } = await ask(member.client, 'resources/unsubscribe', { uri })
      if (result === undefined) throw new Error(`unsubscribe: ${JSON.stringify(error)}`)
      member.subscribed.delete(uri)
      return `${member} ${uri}`
    }
  },
  {
    name: 'a resource is updated',
    weight: 6,
    async run(world) {
      const name = world.random.pick(backendNames)
      return `${world.update(name, `${name}://${1 + world.random.below(3)}`)}`
    }
  },
  {
    name: 'a backend says who is who',
    weight: 4,
    async run(world) {
      const name = world.random.pick(backendNames)
      world.tag(name)
      return name
    }
  },
  {
    name: 'ping',
    weight: 2,
    async run(world) {
      if (world.live.length === 0) return false
      const { json } = await world.random.pick(world.live).client.post({ id: 'ping', method: 'ping' })
      if (JSON.stringify(json?.result) !== '{}') throw new Error(`ping: ${JSON.stringify(json)}`)
      return ''
    }
  },
  {
    name: 'DELETE',
    weight: 1,
    async run(world) {
      if (world.live.length === 0) return false
      const member = world.random.pick(world.live)
      await world.delete(member)
      return String(member)
    }
  },
  {
    name: 'a backend crashes and is there again',
    weight: 0.8,
    run: world => broken(world, true)
  },
  {
    name: 'the connections to a backend break',
    weight: 0.8,
    run: world => broken(world, false)
  },
  {
    name: 'a backend crashes and stays away',
    weight: 0.5,
    async run(world) {
      const name = world.random.pick(backendNames)
      world.disturb(name)
      world.listsMoved = true
      if (!world.isUp(name)) return false
      const catalog = world.party.catalog(name)
      world.party.break(name, true)
      if (world.random.below(2) === 0) catalog.state = 'resetting'
      else {
        await catalog.goDown()
        world.away.add(name)
      }
      return name
    }
  },
  {
    name: 'a backend is back',
    weight: 3,
    async run(world) {
      const name = backendNames.find(name => !world.isUp(name))
      if (name === undefined) return false
      world.disturb(name)
      await world.comeBack(name)
      return name
    }
  },
  {
    name: 'reload: the same again',
    weight: 0.5,
    async run(world) {
      const { listsMoved } = world
      await world.reload(world.layout)
      world.listsMoved = listsMoved
      return ''
    }
  },
  {
    name: 'reload: a config that cannot be',
    weight: 0.5,
    async run(world) {
      await world.reloadBadly()
      return ''
    }
  },
  {
    name: 'reload: a backend comes, or goes',
    weight: 0.8,
    async run(world) {
      const { route } = world.layout
      const next: BackendName[] = route.includes(guest) ? route.filter(name => name !== guest) : [...route, guest]
      await world.reload({ ...world.layout, route: next })
      return `${next}`
    }
  },
  {
    name: 'reload: another order',
    weight: 0.5,
    async run(world) {
      const [first, ...rest] = world.layout.route
      await world.reload({ ...world.layout, route: [...rest, first!] })
      return `${world.layout.route}`
    }
  },
  {
    name: 'reload: a backend becomes another one',
    weight: 0.8,
    async run(world) {
      const name = world.random.pick(backendNames)
      const { identity } = world.layout
      await world.reload({ ...world.layout, identity: { ...identity, [name]: (identity[name] ?? 0) + 1 } })
      return name
    }
  },
  {
    name: 'reload: a bound is another one',
    weight: 0.5,
    async run(world) {
      await world.reload({ ...world.layout, timeout: 600 + world.random.below(60) })
      return ''
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
