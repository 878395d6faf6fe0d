/** Metrics whose values are read when somebody looks. A reading that fails is left out of that look; the rest is told. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

type Values = Iterable<readonly [label: string, value: number]>

export const readGauge = (
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Promise<number>
): void => {
  new Gauge<string>({
    name,
    help,
    registers: [registry],
    async collect() {
      this.remove({})
      try {
        this.set(await read())
      } catch {}
    }
  })
}

export const readGauges = (registry: Registry, name: string, help: string, label: string, read: () => Values): void => {
  new Gauge<string>({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      try {
        for (const [value, number] of read()) this.set({ [label]: value }, number)
      } catch {}
    }
  })
}

/** `read` tells totals since the start. */
export const readCounters = (
  registry: Registry,
  name: string,
  help: string,
  labels: readonly string[],
  read: () => Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>
): void => {
  new Counter<string>({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset()
      try {
        for (const [values, number] of read()) this.inc(values, number)
      } catch {}
    }
  })
}
