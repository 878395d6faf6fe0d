/**
 * The last response of a connection: what its client sent behind that request is not served. Node would, as it reads on until
 * the response is out, and nobody could tell what of a refused request was its body and what is another one (H1, H21).
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const ending = new WeakSet<Socket>()

/** The response to this request says `Connection: close`. */
export const endBehind = ({ socket }: IncomingMessage): void => void ending.add(socket)

export const isBehindLast = ({ socket }: IncomingMessage): boolean => ending.has(socket)
