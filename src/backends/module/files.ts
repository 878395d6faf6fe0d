/** Follows the files of handlers. */
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Following, type Look } from '../../config/following.ts'

/** Files looked at: a folder with more is no folder of handlers, and only its first ones are followed. */
const maxFiles = 10_000

/**
 * Calls `changed` when a file changed, came or went, in the folder `path` and all that are in it, or in the folder of the
 * file `path`; what is in `node_modules`, and what begins with a dot, is not looked at.
 */
export async function followFiles(path: string, changed: () => Promise<void>): Promise<{ close(): void }> {
  const folder = (await stat(path)).isDirectory() ? path : dirname(path)
  const signature = async (): Promise<string> => {
    const hash = createHash('sha256')
    let count = 0
    for await (const line of lines(folder)) {
      hash.update(line)
      if (++count === maxFiles) break
    }
    return hash.digest('base64')
  }
  const following = new Following<Look>({
    folder,
    // What is deeper is not heard of, and found by looking.
    pollMs: 1_000,
    signature,
    look: async () => ({ hash: await signature(), missing: false }),
    take: changed
  })
  await following.begin(await signature())
  return following
}

async function* lines(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* lines(path)
    else yield `${path} ${await at(path)}\n`
  }
}

const at = (path: string): Promise<string> =>
  stat(path, { bigint: true }).then(
    ({ ino, size, mtimeNs }) => `${ino} ${size} ${mtimeNs}`,
    () => 'gone'
  )
