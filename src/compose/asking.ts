/** What upstreams ask of clients, and what several of them say of tasks. */
import type { Link } from '../backends/backend.ts'
import { sampledForOlderServer } from '../bridge/older-sampling.ts'
import { Asked, type AskedOptions } from '../exchanges/asked.ts'
import type { Context } from '../gateway/context.ts'
import { Linked } from '../gateway/linked.ts'
import { taskView } from '../gateway/task-view.ts'
import { servedAt } from '../generations/reload.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Instance } from './instance.ts'

export type Asking = Pick<Context, 'asked' | 'linked' | 'several' | 'tasks'>

/** `all`: asked when it is needed, as everything below. */
export function wireAsking(
  { settings, generations, shared }: Instance,
  all: () => Pick<Context, 'links' | 'answers'>
): Asking {
  const own = (answer: Message, method: string, link: Link, live: Live): Message => {
    const backend = [...all().links.of(live)].find(one => one.link === link)?.backend
    return backend === undefined ? answer : tasks.answerTo(answer, method, live, backend)
  }
  const adapt: AskedOptions['adapt'] = (answer, method, link, live) => {
    const owned = own(answer, method, link, live)
    return method === 'sampling/createMessage' ? sampledForOlderServer(owned, link.server.version) : owned
  }
  const several = (live: Live): boolean => servedAt(generations.find(live.record.route)).length > 1
  const among = shared && {
    shared: {
      key: shared.key,
      instance: shared.name,
      over: (live: Live, label: string) => all().answers?.over(live, label),
      isOver: (label: string) => all().answers?.isOver(label) === true
    },
    expects: (live: Live, some: boolean) => all().answers?.expect(live, some)
  }
  const asked = new Asked(settings.follow({ several, adapt, ...among }, ({ input }) => ({ timeoutMs: input.timeout })))
  const linked = new Linked()
  const tasks = taskView(several, linked)
  return { asked, linked, several, tasks }
}
