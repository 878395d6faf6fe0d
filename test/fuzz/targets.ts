import { config } from './config.ts'
import { correlate } from './correlate.ts'
import { edits } from './edits.ts'
import { headers } from './headers.ts'
import { ids } from './ids.ts'
import { json } from './json.ts'
import { media } from './media.ts'
import { smuggling } from './smuggling.ts'
import { sse } from './sse.ts'
import type { Target } from './target.ts'

/** By the name that `--target` takes. */
export const targets: Readonly<Record<string, Target>> = {
  json,
  edits,
  sse,
  headers,
  ids,
  correlate,
  config,
  media,
  smuggling
}
