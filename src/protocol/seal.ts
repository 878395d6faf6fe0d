/**
 * Facts that a client carries for us and brings back: it can neither read them nor make others (AES-256-GCM over JSON;
 * 2026-07-28 basic/patterns/mrtr, "Server Requirements").
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16
/** Of a mark: as many as nobody guesses. */
const markBytes = 16
/** Longer texts are not looked at, unless more is said to be possible. */
const maxText = 8_192

export class Sealer {
  readonly #key: Buffer

  /** `secret`: 32 bytes or more that all who open what others sealed have; one of this process when left out. */
  constructor(secret: Buffer = randomBytes(32)) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'causeway seals', 32))
  }

  /** `purpose`: what is sealed for one is nothing to another. Gives base64url. */
  seal(purpose: string, facts: unknown): string {
    return this.sealBytes(purpose, JSON.stringify(facts)).toString('base64url')
  }

  /** Proves that facts which stand elsewhere are ours, without hiding them; the same for the same facts. Gives base64url. */
  mark(purpose: string, facts: unknown): string {
    const proof = createHmac('sha256', this.#key)
      .update(JSON.stringify([purpose, facts]))
      .digest()
    return proof.subarray(0, markBytes).toString('base64url')
  }

  isMark(text: string, purpose: string, facts: unknown): boolean {
    const [given, own] = [Buffer.from(text), Buffer.from(this.mark(purpose, facts))]
    return given.length === own.length && timingSafeEqual(given, own)
  }

  /** Undefined: it was not sealed here for this purpose, it was changed, or it has more characters than `longest`. */
  open(purpose: string, text: string, longest = maxText): unknown {
    if (text.length > longest) return undefined
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.toString('base64url') !== text) return undefined
    const opened = this.openBytes(purpose, bytes)
    try {
      return opened && JSON.parse(opened.toString())
    } catch {
      return undefined
    }
  }

  /** The same for what no client carries. */
  sealBytes(purpose: string, data: Uint8Array | string): Buffer {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(purpose))
    const sealed = typeof data === 'string' ? cipher.update(data, 'utf8') : cipher.update(data)
    return Buffer.concat([nonce, sealed, cipher.final(), cipher.getAuthTag()])
  }

  openBytes(purpose: string, bytes: Buffer): Buffer | undefined {
    const end = bytes.length - tagBytes
    if (end < nonceBytes) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes
    })
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(end))
    try {
      const opened = decipher.update(bytes.subarray(nonceBytes, end))
      decipher.final()
      return opened
    } catch {
      return undefined
    }
  }
}
