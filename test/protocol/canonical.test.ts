import t from 'tap'
import { canonical } from '../../src/protocol/canonical.ts'

const of = (text: string): string => canonical(Buffer.from(text), 0)

t.test('the same said in another way is the same', async t => {
  t.equal(of('{"b":[1, {"y":null,"x":"\\u0041\\/"}] ,"a":{}}'), of('{"a":{},"b":[1,{"x":"A/","y":null}]}'))
  t.equal(of('[]'), '[]')
  t.equal(of('true'), 'true')
})

t.test('numbers are as they were written, and order in lists counts', async t => {
  t.equal(of('[9007199254740993,1.0,-0]'), '[9007199254740993,1.0,-0]')
  t.not(of('[1,2]'), of('[2,1]'))
  t.not(of('{"a":1}'), of('{"a":"1"}'))
  t.not(of('{"a":[1],"b":2}'), of('{"a":[1,2]}'))
})
