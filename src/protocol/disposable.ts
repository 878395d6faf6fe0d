/**
 * Memory of large texts that is given back by hand. Left to the collector it counts as external memory, of which every hundred
 * megabytes start a full collection: with results of a megabyte that costs more than all the rest of the way.
 */

const disposable = new WeakSet<Buffer>()

/** Nobody else has this text, nor any part of its memory: whoever is the last to write it gives it back. */
export const markDisposable = (text: Buffer): void => void disposable.add(text)

/** The text was written and is not looked at any more. What is not marked stays as it is. */
export function dispose(text: Buffer): void {
  if (disposable.delete(text)) release(text)
}

/** Gives back the memory of a text, and of every other that shares it. */
export function release({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
