import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { load } from '../../src/config/load.ts'
import { parse as parseConfig } from '../../src/config/parse.ts'
import { commandsOf } from './dockerfile.ts'

const root = path.join(import.meta.dirname, '../..')
const text = (file: string) => readFileSync(path.join(root, file), 'utf8')

t.test('the config of the image is valid, listens on every address, and lets no web page in', async t => {
  const { config } = await load(path.join(root, 'deploy/causeway.yaml'), {})
  t.match(config, { server: { host: '0.0.0.0', port: 8080, allowedHosts: [] }, admin: { host: '127.0.0.1' } })
  t.equal(config.server.allowedOrigins, undefined)
})

t.test('the image runs as another user than root, from the config that it documents', t => {
  const stages = text('Dockerfile').split(/^FROM /m)
  t.match(stages.at(-1), /^USER node$/m)
  t.equal(commandsOf(path.join(root, 'Dockerfile')).start.at(-1), '/etc/causeway/causeway.yaml')
  t.match(stages.at(-1), /^COPY deploy\/causeway\.yaml \/etc\/causeway\/causeway\.yaml$/m)
  t.end()
})

t.test('the health check asks the admin listener of that config', async t => {
  const { config } = await load(path.join(root, 'deploy/causeway.yaml'), {})
  const { port } = config.admin as { port: number }
  const { healthCheck } = commandsOf(path.join(root, 'Dockerfile'))
  t.ok(healthCheck.join(' ').includes(`http://127.0.0.1:${port}/healthz`))
})

t.test('a Dockerfile without commands in the exec form is told apart', t => {
  const folder = t.testdir({ Dockerfile: 'FROM node\nENTRYPOINT node main.js\n' })
  t.throws(() => commandsOf(path.join(folder, 'Dockerfile')), /ENTRYPOINT/)
  t.end()
})

t.test('the compose example publishes on this machine only, read-only, with the config of this folder', t => {
  const { causeway } = parse(text('deploy/compose.yaml')).services
  t.match(causeway, {
    ports: ['127.0.0.1:8080:8080'],
    read_only: true,
    init: true,
    volumes: ['./causeway.yaml:/etc/causeway/causeway.yaml:ro']
  })
  t.end()
})

t.test(
  'the Kubernetes example has a config that is right, in a folder that follows its ConfigMap, and probes that reach it',
  t => {
    const [map, secret, deployment, service] = parseAllDocuments(text('deploy/kubernetes.yaml')).map(each =>
      each.toJS()
    )
    const named: string[] = []
    const parsed = parseConfig(map.data['causeway.yaml'], '/', {
      env: () => undefined,
      file(name) {
        named.push(path.basename(name))
        return 'token'
      }
    })
    t.match(parsed, { config: { server: { host: '0.0.0.0' }, admin: { host: '0.0.0.0' } } })
    t.same(named, Object.keys(secret.stringData))
    const { containers, volumes, terminationGracePeriodSeconds } = deployment.spec.template.spec
    const [{ args, ports, volumeMounts, livenessProbe, readinessProbe }] = containers
    t.same(args, commandsOf(path.join(root, 'Dockerfile')).start.slice(-args.length))
    t.ok(volumeMounts.some(({ mountPath }: { mountPath: string }) => mountPath === path.dirname(args.at(-1))))
    t.notOk(volumeMounts.some((mount: object) => 'subPath' in mount))
    t.match(volumes, [{ configMap: { name: map.metadata.name } }, { secret: { secretName: secret.metadata.name } }, {}])
    t.match([livenessProbe, readinessProbe], [{ httpGet: { port: 'admin' } }, { httpGet: { port: 'admin' } }])
    t.match(ports, [
      { name: 'mcp', containerPort: parsed.config!.server.port },
      { name: 'admin', containerPort: (parsed.config!.admin as { port: number }).port }
    ])
    t.same(
      service.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort),
      ['mcp'],
      'not the admin listener'
    )
    const { delay, deadline } = parsed.config!.server.shutdown
    t.ok(terminationGracePeriodSeconds * 1_000 > delay + deadline + 3_000)
    t.end()
  }
)
