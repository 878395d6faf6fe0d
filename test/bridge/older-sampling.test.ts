/** Sampling between peers of different revisions: one block is unwrapped, no block is dropped, everything else stays (R90, R112). */
import t from 'tap'
import { sampledForOlderServer, samplingForOlderClient } from '../../src/bridge/older-sampling.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const hasArrays = (version: string): boolean => version === '2025-11-25'

const request = (text: string) => readMessage(Buffer.from(text), 1_000)

const put = (messages: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":${messages},"maxTokens":1e2,"zz":[1.0]}}`

const text = '{"type":"text","text":"\\u0041","n":9007199254740993}'
const audio = '{"type":"audio","data":"","mimeType":"audio/wav"}'

for (const version of versions) {
  const adapt = (messages: string): string | undefined => {
    const adapted = samplingForOlderClient(request(put(messages)), version)
    return adapted === undefined ? undefined : String(bytes(adapted))
  }

  t.test(`a request for a client of ${version}`, async t => {
    const single = `[{"role":"user","content":${text}}]`
    t.equal(adapt(single), put(single))
    const wrapped = ` [ {"role":"user" ,"content": [ ${text} ] ,"x":-0}, {"content":${text}},{"content":[${text}]} ] `
    const unwrapped = ` [ {"role":"user" ,"content": ${text} ,"x":-0}, {"content":${text}},{"content":${text}} ] `
    t.equal(adapt(wrapped), put(hasArrays(version) ? wrapped : unwrapped))
    for (const several of [`[{"content":[${text},${text}]}]`, '[{"content":[]}]']) {
      t.equal(adapt(several), hasArrays(version) ? put(several) : undefined)
    }
    for (const heard of [`[{"content":${audio}}]`, `[{"content":[${audio}]}]`]) {
      const expected = hasArrays(version) ? heard : heard.replace(`[${audio}]`, audio)
      t.equal(adapt(heard), version === '2024-11-05' ? undefined : put(expected))
    }
    for (const odd of ['null', '{}', '[]', '[1,null,{"role":"user"}]', '[{"content":1,"content":2}]']) {
      t.equal(adapt(odd), put(odd), odd)
    }
  })

  t.test(`an answer for a server of ${version}`, async t => {
    const answered = (result: string): string => {
      const adapted = sampledForOlderServer(request(`{"result":${result},"id":"\\u0041","jsonrpc":"2.0"}`), version)
      return String(bytes(adapted))
    }
    const whole = (result: string): string => `{"result":${result},"id":"\\u0041","jsonrpc":"2.0"}`
    const result = (content: string): string => `{ "model":"m","content": ${content} ,"role":"assistant","n":1.0}`
    t.equal(answered(result(text)), whole(result(text)))
    t.equal(answered(result(`[ ${text} ]`)), whole(result(hasArrays(version) ? `[ ${text} ]` : text)))
    const several = result(`[${text},${text}]`)
    if (hasArrays(version)) t.equal(answered(several), whole(several))
    else t.match(JSON.parse(answered(several)), { id: 'A', error: { code: -32602, message: /2 blocks/ } })
    for (const odd of ['null', '[]', '{}', '{"content":1,"content":[]}']) t.equal(answered(odd), whole(odd))
    const refusal = request('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"rejected"}}')
    t.equal(sampledForOlderServer(refusal, version), refusal)
  })
}

t.test('other requests pass whatever the version', async t => {
  const other = request('{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"messages":[{"content":[]}]}}')
  t.equal(samplingForOlderClient(other, '2024-11-05'), other)
  const bare = request('{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}')
  t.equal(samplingForOlderClient(bare, '2024-11-05'), bare)
})
