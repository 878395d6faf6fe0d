import { createGzip, gzipSync } from 'node:zlib'
import t from 'tap'
import { Decoder } from '../../../src/backends/http/decode.ts'
import { until } from '../../helpers/until.ts'

const decoding = () => {
  const told: string[] = []
  const decoder = Decoder.of('gzip', {
    data: chunk => told.push(chunk.toString()),
    end: () => told.push('end'),
    undecodable: () => told.push('undecodable')
  })!
  return { told, decoder }
}

t.test('nothing is decoded while the reader is behind', async t => {
  const { told, decoder } = decoding()
  decoder.pause()
  decoder.write(gzipSync('hello'))
  decoder.end()
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
  t.same(told, [])
  decoder.resume()
  await until('the end', () => told.includes('end'))
  t.same(told, ['hello', 'end'])
})

t.test('a closed decoder tells nothing more, whatever still comes', async t => {
  const { told, decoder } = decoding()
  decoder.write(gzipSync('hello').subarray(0, 12))
  decoder.close()
  decoder.write(Buffer.from('nonsense'))
  decoder.end()
  decoder.resume()
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
  t.same(told, [])
})

t.test('what is flushed is told without waiting for more', async t => {
  const { told, decoder } = decoding()
  const gzip = createGzip()
  gzip.on('data', chunk => decoder.write(chunk))
  gzip.write('one')
  gzip.flush()
  await until('the first', () => told.length === 1)
  t.same(told, ['one'])
  decoder.close()
})

t.test('several codings, and unknown ones, have no decoder', async t => {
  const target = { data: () => {}, end: () => {}, undecodable: () => {} }
  for (const coding of ['foo', 'gzip, br', '', ['gzip', 'br']]) t.equal(Decoder.of(coding, target), undefined)
})
