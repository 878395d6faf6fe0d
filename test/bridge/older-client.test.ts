/** What each revision's client gets of each content type; the bytes around a replaced block are those of the upstream (R3, R77, R90, R91). */
import t from 'tap'
import { forOlderClient } from '../../src/bridge/older-client.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

const adapt = (text: string, method: string, version: string): string =>
  String(bytes(forOlderClient(readMessage(Buffer.from(text), 1_000), method, version)))

const audio =
  '{"type":"audio","data":"UklGRg==","mimeType":"audio/wav","annotations":{"priority":1.0},"_meta":{"n":1e2},"zz":1}'
const link =
  '{"type":"resource_link","uri":"file:///a\\u0041","name":"na\\"me","title":"T","size":9007199254740993,"icons":[],' +
  '"annotations":{"audience":["user"]},"_meta":{"n":1.0}}'

/** By content type: what clients of each revision, oldest first, get instead; undefined: the block itself. */
const blocks: Readonly<Record<string, readonly [block: string, ...(string | undefined)[]]>> = {
  text: ['{"type":"text","text":"\\u0041","annotations":{"priority":1.0}}'],
  image: ['{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}'],
  audio: [
    audio,
    '{"type":"resource","resource":{"uri":"gateway:audio/1","mimeType":"audio/wav","blob":"UklGRg=="},"annotations":{"priority":1.0},"_meta":{"n":1e2}}'
  ],
  'audio without anything': [
    '{"type":"audio"}',
    '{"type":"resource","resource":{"uri":"gateway:audio/1","mimeType":"application/octet-stream","blob":""}}'
  ],
  resource_link: [
    link,
    '{"type":"text","text":"na\\"me: file:///aA","annotations":{"audience":["user"]},"_meta":{"n":1.0}}',
    '{"type":"text","text":"na\\"me: file:///aA","annotations":{"audience":["user"]},"_meta":{"n":1.0}}'
  ],
  'resource_link without anything': [
    '{"type":"resource_link"}',
    '{"type":"text","text":"resource: "}',
    '{"type":"text","text":"resource: "}'
  ],
  'embedded resource': [
    '{"type":"resource","resource":{"uri":"x:","text":"t","zz":[1.0]},"annotations":{"lastModified":"2025-01-12"}}'
  ],
  'a type of the future': ['{"type":"x-future","n":1e400}'],
  'no type': ['{"a":null}'],
  'a type written in escapes': [
    '{"type":"\\u0061udio"}',
    '{"type":"resource","resource":{"uri":"gateway:audio/1","mimeType":"application/octet-stream","blob":""}}'
  ]
}

for (const version of versions) {
  for (const [name, [block, ...instead]] of Object.entries(blocks)) {
    const expected = instead[versions.indexOf(version)] ?? block

    t.test(`${name} in a tool's result, for ${version}`, async t => {
      const around = (content: string): string =>
        `{ "id" : 1,"jsonrpc":"2.0","result":{"_meta":{"a":1.0},"content":[ {"type":"text","text":""} ,\t${content} ],"z":-0 }}`
      t.equal(adapt(around(block), 'tools/call', version), around(expected))
    })

    t.test(`${name} in a prompt, for ${version}`, async t => {
      const around = (content: string): string =>
        `{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"\\u0041"}},{"x":1.0,"content": ${content} ,"role":"user"}],"d":1e2}}`
      t.equal(adapt(around(block), 'prompts/get', version), around(expected))
    })
  }

  const structured = '{"n":9007199254740993,"one":1.0,"e":1e400,"s":"\\u0041\\n"}'
  const asText = `{"type":"text","text":${JSON.stringify(structured)}}`
  const older = version < '2025-06-18'
  /** What comes before, and what comes out for older clients. */
  const results: Readonly<Record<string, readonly [string, string]>> = {
    'no content': [`{"structuredContent":${structured}}`, `{"content":[${asText}],"structuredContent":${structured}}`],
    'empty content': [
      `{"content":[ ],"structuredContent":${structured}}`,
      `{"content":[${asText} ],"structuredContent":${structured}}`
    ],
    'no text in the content': [
      `{"structuredContent":${structured},"content":[{"type":"image"}]}`,
      `{"structuredContent":${structured},"content":[${asText},{"type":"image"}]}`
    ],
    'a link for a text': [
      `{"structuredContent":${structured},"content":[${link}]}`,
      `{"structuredContent":${structured},"content":[${asText},${blocks.resource_link![1]}]}`
    ],
    'a text': [
      `{"content":[{"type":"text","text":""}],"structuredContent":${structured}}`,
      `{"content":[{"type":"text","text":""}],"structuredContent":${structured}}`
    ],
    'content that is no array': [
      `{"content":null,"structuredContent":${structured}}`,
      `{"content":null,"structuredContent":${structured}}`
    ],
    'no object': [
      '{"content":[],"structuredContent":[1.0]}',
      '{"content":[{"type":"text","text":"[1.0]"}],"structuredContent":[1.0]}'
    ]
  }
  for (const [name, [result, adapted]] of Object.entries(results)) {
    t.test(`structured content with ${name}, for ${version}`, async t => {
      const around = (text: string): string => `{"jsonrpc":"2.0","result":${text},"id":"a"}`
      t.equal(adapt(around(result), 'tools/call', version), around(older ? adapted : result))
    })
  }

  t.test(`what is no content passes, for ${version}`, async t => {
    for (const text of [
      '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"content"}}',
      '{"jsonrpc":"2.0","id":1,"result":null}',
      '{"jsonrpc":"2.0","id":1,"result":[]}',
      '{"jsonrpc":"2.0","id":1,"result":{"content":[1,null,"audio",[{"type":"audio"}]],"messages":{}}}',
      '{"jsonrpc":"2.0","id":1,"result":{"messages":[1,{"content":"text"},{"content":[{"type":"audio"}]}]}}',
      '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","type":"audio"}]}}'
    ]) {
      for (const method of ['tools/call', 'prompts/get']) t.equal(adapt(text, method, version), text)
    }
    const read = `{"jsonrpc":"2.0","id":1,"result":{"content":[${audio}],"contents":[${link}]}}`
    t.equal(adapt(read, 'resources/read', version), read)
  })
}

t.test('several blocks of one result are told apart', async t => {
  const result = `{"jsonrpc":"2.0","id":1,"result":{"content":[${audio},${link},${audio}]}}`
  const { content } = JSON.parse(adapt(result, 'tools/call', '2024-11-05')).result
  t.match(content, [
    { type: 'resource', resource: { uri: 'gateway:audio/0' } },
    { type: 'text' },
    { type: 'resource', resource: { uri: 'gateway:audio/2' } }
  ])
})
