import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import t from 'tap'
import { parseTable, peerKey, unacknowledged } from '../../src/http/unacknowledged.ts'
import { until } from '../helpers/until.ts'

t.test('peers are named as Linux names them (E6)', t => {
  for (const [address, port, key] of [
    ['127.0.0.1', 8080, '0100007F:1F90'],
    ['10.255.0.1', 1, '0100FF0A:0001'],
    ['::1', 65_535, '00000000000000000000000001000000:FFFF'],
    ['::ffff:127.0.0.1', 80, '0000000000000000FFFF00000100007F:0050'],
    ['2001:db8::12', 443, 'B80D0120000000000000000012000000:01BB'],
    ['fe80::1:2:3:4%eth0', 443, '000080FE000000000200010004000300:01BB'],
    ['1:2:3:4:5:6:7:8', 443, '02000100040003000600050008000700:01BB']
  ] as const) {
    t.equal(peerKey(address, port), key, address)
  }
  t.end()
})

t.test('established connections with bytes under way are read from the table, and no others (E6)', t => {
  const found = new Map<string, number>()
  parseTable(
    `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000010:00000000 01:00000014 00000000     0        0 2 2 0000000000000000 20 4 30 10 -1
  12: 0100007F:1F90 0100007F:C002 01 00000000:00000005 00:00000000 00000000     0        0 3 1 0000000000000000 20 4 30 10 -1
  13: 0100007F:1F90 0100007F:C003 04 00000010:00000000 00:00000000 00000000     0        0 4 1 0000000000000000 20 4 30 10 -1
`,
    found
  )
  t.same([...found], [['0100007F:C001', 16]])
  t.end()
})

t.test(
  'a peer that takes nothing is in the table of this machine (E6)',
  { skip: process.platform !== 'linux' && 'only Linux has one' },
  async t => {
    const server = net.createServer(socket => {
      socket.on('error', () => {})
      const write = (): void => {
        while (socket.write(Buffer.alloc(65_536)));
      }
      write()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    await once(client, 'connect')
    const key = peerKey('127.0.0.1', client.localPort!)
    await until('it is told', async () => ((await unacknowledged()).get(key) ?? 0) > 0)
    client.destroy()
    server.close()
    await once(server, 'close')
    t.notOk((await unacknowledged()).has(key))
  }
)
