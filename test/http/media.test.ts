import t from 'tap'
import { accepts, checkContentType } from '../../src/http/media.ts'

t.test('Accept admits by media range, quality and specificity (HDR-01)', async t => {
  const rows: readonly (readonly [header: string | undefined, json: boolean, sse: boolean])[] = [
    [undefined, true, true],
    ['', true, true],
    ['application/json, text/event-stream', true, true],
    ['application/json,text/event-stream', true, true],
    ['TEXT/EVENT-STREAM, Application/JSON', true, true],
    ['*/*', true, true],
    ['application/*;q=0.9, text/*', true, true],
    ['application/json', true, false],
    ['application/json; charset=utf-8', true, false],
    ['text/event-stream', false, true],
    ['text/*', false, true],
    ['text/event-stream;q=0, application/json', true, false],
    ['text/event-stream; q=0.000, */*', true, false],
    ['application/json;q=0, */*;q=0.1', false, true],
    ['*/*;q=0, application/json', true, false],
    ['application/*;q=0, application/json', true, false],
    ['application/json ; q=1.000 , text/event-stream ; Q=0.5', true, true],
    ['*/*;q=0', false, false],
    ['image/png', false, false],
    ['application/jsonx, text/event-streams', false, false],
    ['application/problem+json', false, false],
    ['text/plain, garbage, /, ;q=1', false, false]
  ]
  for (const [header, json, sse] of rows) t.same(accepts(header), { json, sse }, `Accept: ${header}`)
})

t.test('Content-Type is a media type, with parameters in any case (HDR-03, H12)', async t => {
  for (const header of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json;charset=utf8',
    'application/json;foo=bar',
    'application/json ; foo="a;b"',
    'application/json;'
  ]) {
    t.doesNotThrow(() => checkContentType(header), header)
  }
  for (const header of [
    undefined,
    '',
    'text/plain',
    'text/plain;application/json',
    'application/jsonx',
    'application/json+x',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/json\ta',
    'application/json a',
    'application /json',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; charset=',
    'json'
  ]) {
    t.throws(() => checkContentType(header), { code: 'media_type', status: 415 }, `${header}`)
  }
})
