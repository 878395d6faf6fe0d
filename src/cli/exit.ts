/** What the process ends with. `config` is EX_CONFIG of sysexits.h. */
export const exit = { ok: 0, failure: 1, usage: 2, config: 78 } as const
export type ExitCode = (typeof exit)[keyof typeof exit]

/** Where a command writes. */
export interface Output {
  out(text: string): void
  error(text: string): void
}
