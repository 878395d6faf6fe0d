// A server whose calls have a text of some size. Usage: http.ts PORT [BYTES] [ERA], the size of the text in a call's result;
// modern: of 2026-07-28, without sessions
import { modernResultOf, resultOf } from './results.ts'
import { serve } from './server.ts'

const [port, bytes = '2', era = 'legacy'] = process.argv.slice(2)
const text = 'x'.repeat(Number(bytes))
const results = era === 'modern' ? modernResultOf : resultOf
const callResult = JSON.stringify(results('tools/call', undefined, text))

serve(Number(port), (method, version) =>
  method === 'tools/call' ? callResult : JSON.stringify(results(method, version, text))
)
