/** What is kept of a stream in Redis, sealed for this stream of this session and for nothing else. */
import type { Sealer } from '../protocol/seal.ts'
import type { Facts, Place, StreamKey } from './stream-log.ts'

type Kind = 'data' | 'facts' | 'place'

export class StreamSeal {
  readonly #sealer: Sealer

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  seal(key: StreamKey, kind: Kind, text: Uint8Array | string): Buffer {
    return this.#sealer.sealBytes(purpose(key, kind), text)
  }

  /** Nothing for none. */
  place(key: StreamKey, place: Place | undefined): Buffer | string {
    return place === undefined ? '' : this.seal(key, 'place', place)
  }

  /** Undefined for what was not sealed here. */
  open(key: StreamKey, kind: Kind, sealed: Buffer): Buffer | undefined {
    return this.#sealer.openBytes(purpose(key, kind), sealed)
  }

  /** Empty for none. */
  facts(key: StreamKey, sealed: Buffer): Facts {
    return this.open(key, 'facts', sealed)?.toString() ?? ''
  }
}

const purpose = ({ session, stream }: StreamKey, kind: Kind): string => `stream ${kind} ${session} ${stream}`
