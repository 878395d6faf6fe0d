/** Bodies that are encoded although `Accept-Encoding: identity` was asked for. */
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'

interface Decoded {
  /** Decoded bytes, in order. */
  data(chunk: Buffer): void
  end(): void
  undecodable(): void
}

type Inflater = ReturnType<typeof createGunzip | typeof createBrotliDecompress | typeof createZstdDecompress>

/** Pieces are handed on as they come, so a stream is not delayed, and whoever takes them bounds them, so a bomb stays small. */
export class Decoder {
  #inflater: Inflater | undefined
  #target: Decoded | undefined

  /** Undefined for a coding that is not known, and for several at once. */
  static of(coding: string | string[], target: Decoded): Decoder | undefined {
    const inflater = inflaterOf(String(coding).trim().toLowerCase())
    return inflater === undefined ? undefined : new Decoder(inflater, target)
  }

  private constructor(inflater: Inflater, target: Decoded) {
    this.#inflater = inflater
    this.#target = target
    inflater.on('data', (chunk: Buffer) => this.#target?.data(chunk))
    inflater.on('end', () => this.#target?.end())
    inflater.on('error', () => this.#target?.undecodable())
  }

  write(chunk: Buffer): void {
    this.#inflater?.write(chunk)
  }

  end(): void {
    this.#inflater?.end()
  }

  pause(): void {
    this.#inflater?.pause()
  }

  resume(): void {
    this.#inflater?.resume()
  }

  close(): void {
    this.#target = undefined
    this.#inflater?.destroy()
    this.#inflater = undefined
  }
}

function inflaterOf(coding: string): Inflater | undefined {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ flush: constants.Z_SYNC_FLUSH })
    case 'deflate':
      return createInflate({ flush: constants.Z_SYNC_FLUSH })
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return createZstdDecompress({ flush: constants.ZSTD_e_flush })
  }
  return undefined
}
