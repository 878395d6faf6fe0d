import { readFileSync } from 'node:fs'

export interface ImageCommands {
  /** ENTRYPOINT and CMD together: what a container runs. */
  readonly start: readonly string[]
  /** Exits with 0 when healthy. */
  readonly healthCheck: readonly string[]
}

/** The commands in a Dockerfile, which all have to be in the exec form. */
export const commandsOf = (file: string): ImageCommands => {
  const text = readFileSync(file, 'utf8').replaceAll('\\\n', ' ')
  const command = (pattern: RegExp): string[] => {
    const found = pattern.exec(text)?.[1]
    if (found === undefined) throw new Error(`Nothing in ${file} matches ${pattern}`)
    return JSON.parse(found)
  }
  return {
    start: [...command(/^ENTRYPOINT (\[.*\])$/m), ...command(/^CMD (\[.*\])$/m)],
    healthCheck: command(/^HEALTHCHECK .*\bCMD (\[.*\])$/m)
  }
}
