import t from 'tap'
import { LogLines } from '../../../src/backends/stdio/log-lines.ts'
import { facts } from '../../../src/telemetry/events.ts'
import { Clock } from '../../helpers/clock.ts'

function setUp() {
  const texts: string[] = []
  t.teardown(facts.notice.subscribe(({ text, level, backend }) => texts.push(`${level} ${backend} ${text}`)))
  const clock = new Clock()
  return { texts, clock, log: new LogLines('files', clock.now) }
}

t.test('what a child says on stderr is a notice for each line, however it is split', t => {
  const { texts, log } = setUp()
  for (const byte of Buffer.from('starting 😀\r\n\n  \nready')) log.push(Buffer.of(byte))
  log.end()
  t.same(texts, ['info files starting 😀', 'info files ready'])
  t.end()
})

t.test('long lines are cut', t => {
  const { texts, log } = setUp()
  for (let i = 0; i < 100; i++) log.push(Buffer.alloc(1_000, 'x'))
  log.push(Buffer.from('\nnext\n'))
  t.same(texts, [`info files ${'x'.repeat(2_000)}...`, 'info files next'])
  t.end()
})

t.test('BKD-01 a flood is thinned out and counted', t => {
  const { texts, clock, log } = setUp()
  for (let i = 0; i < 1_000; i++) log.push(Buffer.from(`${i}\n`))
  t.equal(texts.length, 20)
  clock.advance(1_000)
  log.push(Buffer.from('calm\n'))
  t.same(texts.slice(20), ['info files 980 more lines on stderr were left out', 'info files calm'])
  t.end()
})
