/** What goes with sessions that several instances serve, and what does not. */
import type { Broken } from './explain.ts'
import { entries, member, together } from './written.ts'

/** Keys of a store in Redis, with what they are when they are left out. */
const ofRedis: Readonly<Record<string, unknown>> = { url: undefined, prefix: 'causeway', deadline: '250ms' }

const storeOf = (file: unknown): readonly Broken[] => {
  const store = member(file, 'store')
  if (member(store, 'kind') !== 'redis') {
    return entries(store)
      .filter(([key, value]) => key in ofRedis && ofRedis[key] !== value)
      .map(([key]) => ({ path: ['store', key], message: 'expected only with kind: redis', key: true }))
  }
  const missing: Broken[] = []
  if (member(store, 'url') === undefined) {
    missing.push({ path: ['store'], message: 'expected a url, such as redis://127.0.0.1:6379' })
  }
  const key = member(member(file, 'secrets'), 'key')
  if (key === undefined || key === '') {
    missing.push({ path: ['store', 'kind'], message: 'expected secrets.key, the same for all instances' })
  }
  return missing
}

/** What only one instance can have does not go with sessions that every instance serves. */
const portable = (file: unknown): readonly Broken[] => {
  if (member(member(file, 'store'), 'kind') !== 'redis') return []
  const message =
    'expected a backend of kind http with store.kind: redis: others are not served by several instances yet'
  const backends = ['backends', 'mcpServers'].flatMap(block =>
    entries(member(file, block)).flatMap(([name, entry]) => {
      const isHttp =
        block === 'backends'
          ? member(entry, 'kind') === 'http'
          : member(entry, 'url') !== undefined && member(entry, 'type') !== 'sse'
      return isHttp ? [] : [{ path: [block, name], message }]
    })
  )
  const merged = together(file).filter(([, names]) => names.length > 1)
  const several = merged.map(([route]) => ({
    path: member(file, 'routes') === undefined ? ['backends'] : ['routes', route, 'backends'],
    message: `expected one backend at ${route} with store.kind: redis: several at one are not served by several instances yet`
  }))
  return [...backends, ...several]
}

/** In the order in which they are told. */
export const storeRules = [storeOf, portable]
