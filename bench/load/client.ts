import { Connection } from './connection.ts'
import { openSession } from './mcp.ts'

/** A session for a few requests, one after the other, whose answers are looked at. */
export interface Client {
  /** The body of the answer to a message. Rejects when the status is not 200. */
  text(message: string): Promise<string>
}

export const openClient = async (address: string): Promise<Client> => {
  const url = new URL(address)
  const connection = new Connection(url)
  const session = await openSession(connection, url)
  connection.close()
  const headers = Object.fromEntries(
    session
      .split('\r\n')
      .filter(line => line !== '')
      .map(line => line.split(': ') as [string, string])
  )
  return {
    async text(message) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: message
      })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 300)}`)
      return text
    }
  }
}
