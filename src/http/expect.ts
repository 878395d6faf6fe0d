/** `Expect` (RFC 9110, section 10.1.1): `100-continue` is met when the response's turn has come, nothing else is. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { GatewayError } from '../errors.ts'
import { errorMessage } from '../protocol/make.ts'
import { bytes } from '../protocol/write.ts'

const refusal = bytes(errorMessage(new GatewayError('header', 'the expectation cannot be met')))

function refuse(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, { 'content-type': 'application/json', 'content-length': refusal.length, connection: 'close' })
  response.end(refusal)
}

/**
 * While the response before it is on its way, Node would queue the interim response and then put the head of the final one
 * in front of it: between head and body. A final response that comes first ends the connection.
 */
function invite(response: ServerResponse): void {
  if (response.socket !== null) response.writeContinue()
  else response.once('socket', () => response.headersSent || response.writeContinue())
}

export function answerExpectations(server: Server): void {
  server.on('checkExpectation', refuse)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    invite(response)
    server.emit('request', request, response)
  })
}
