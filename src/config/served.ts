/** What of a backend is served and how, whatever its kind: names, choices, and what protects the others from it. */
import * as z from 'zod'
import { isCore } from '../protocol/core.ts'
import { duration, fraction, off, whole } from './units.ts'

const text = z.string('expected a string')
const filled = text.refine(text => text.trim() !== '', 'expected a string that is not empty')

const pattern = text.min(1, 'expected a pattern such as read_*')

const allow = z
  .array(pattern, 'expected a list of patterns')
  .min(1, 'expected a pattern; deny: ["*"] serves none')
  .optional()
const deny = z.array(pattern, 'expected a list of patterns').prefault([])
const rename = z
  .record(
    text.min(1, 'expected a name'),
    text.regex(/^[A-Za-z0-9_.-]{1,64}$/, 'expected a name of letters, digits, "_", "-" and ".", 64 at most')
  )
  .prefault({})

const describe = z.record(text.min(1, 'expected a name or a URI'), filled).prefault({})

const named = (what: string) =>
  z
    .strictObject({
      allow: allow.describe(`${what} that are served: names, * stands for any characters, ? for one. Left out: all`),
      deny: deny.describe(`${what} that are not served; wins over allow`),
      rename: rename.describe('Own name to the name that clients see'),
      describe: describe.describe('Own name to the description that clients see')
    })
    .optional()

const extension = text
  .regex(/^[!-~]{1,128}$/, 'expected the start of a method such as com.example/')
  .refine(text => !isCore(text), 'expected methods outside the protocol: its own find their backends by themselves')

const hint = z.strictObject({
  ttl: duration({ zero: true }).prefault('0s').describe('How long they may be kept; 0s: not at all'),
  scope: z
    .enum(['public', 'private'], 'expected public or private')
    .prefault('private')
    .describe('public: they are the same for everybody, so that clients may share them')
})

const breaker = z.strictObject({
  failures: whole(1, 10_000).prefault(5).describe('Failures in a row after which calls are refused at once'),
  ratio: fraction().prefault(0.5).describe('Share of failed calls in the window that does the same'),
  window: duration().prefault('30s').describe('How far back the share is counted'),
  minimum: whole(1, 1_000_000).prefault(20).describe('Calls in the window below which the share says nothing'),
  pause: duration().prefault('1s').describe('Time until one call may try again; doubled each time it fails'),
  maxPause: duration().prefault('30s').describe('The longest such time')
})

export const served = {
  prefix: text
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'expected a prefix of letters, digits, "_", "-" and ".", 64 at most')
    .optional()
    .describe('What its names begin with where they need it; its own name when left out'),
  uriPrefix: text
    .regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]*$/u, 'expected the start of a URI such as docs://')
    .optional()
    .describe('Start of the URIs that go to it when no backend of the route lists them'),
  tools: named('Tools'),
  prompts: named('Prompts'),
  resources: z
    .strictObject({
      allow: allow.describe('URIs that are served, templates too. Left out: all'),
      deny: deny.describe('URIs that are not served; wins over allow'),
      describe: describe.describe('URI to the description that clients see')
    })
    .optional(),
  extensions: z
    .array(extension, 'expected a list of method prefixes')
    .prefault([])
    .describe('Starts of the methods outside the protocol that go to it, where several backends are behind a route'),
  hints: z
    .strictObject({
      lists: hint.prefault({}).describe('Lists, and the answer to server/discover'),
      reads: hint.prefault({}).describe('Resources that are read')
    })
    .prefault({})
    .describe('What clients of 2026-07-28 are told of keeping its results, where it says nothing of that itself'),
  calls: whole(1, 1_000_000).prefault(1000).describe('Most calls in flight; further ones wait'),
  queue: whole(0, 1_000_000).prefault(1000).describe('Most calls that wait; further ones are refused'),
  queueTime: duration().prefault('5s').describe('How long a call may wait before it is refused'),
  breaker: z
    .union([off('off'), breaker], 'expected off, or settings of the breaker')
    .prefault({})
    .describe('When calls to a backend that keeps failing are refused at once')
}
