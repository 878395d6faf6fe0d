import { notes } from '../config/notes.ts'
import { render } from '../config/render.ts'
import { configured } from './configured.ts'
import { type ExitCode, exit, type Output } from './exit.ts'

/** Says whether a config is right, and what it comes to. Throws ConfigError. */
export const check = async (path: string | undefined, { out }: Output): Promise<ExitCode> => {
  const { path: chosen, config, source } = await configured(path)
  out(`# ${chosen} is valid. Everything it comes to, secrets hidden:\n`)
  for (const note of notes(config)) out(`# Note: ${note}\n`)
  out(render(config, source))
  return exit.ok
}
