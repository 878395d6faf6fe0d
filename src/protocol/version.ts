/** The dated revisions of the protocol that this gateway speaks, and what each has (requirements, section 2). */

export type Era = 'legacy' | 'modern'

/** Oldest first; the dates compare as strings. */
export const legacyVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export const latestLegacy = '2025-11-25'

/** What a request without a session and without a version header speaks (basic/transports, "Protocol Version Header"). */
export const assumedVersion = '2025-03-26'

/** The first modern revision: stateless, per-request `_meta`. */
export const firstModern = '2026-07-28'

/** Modern revisions that are spoken with upstreams, oldest first. */
export const modernVersions = ['2026-07-28'] as const
export const latestModern = '2026-07-28'

export const isSpokenModern = (text: string): boolean => (modernVersions as readonly string[]).includes(text)

/** Every revision spoken here, oldest first. */
export const allVersions = [...legacyVersions, firstModern] as const

/** Whether it is a legacy revision that is spoken here. */
export const isVersion = (text: string): boolean => (legacyVersions as readonly string[]).includes(text)

/** Whether a version text is a date of the modern era. */
export const isModern = (text: string): boolean => text >= firstModern && /^\d{4}-\d{2}-\d{2}$/.test(text)

/** JSON-RPC batches exist in 2025-03-26 alone (basic/transports of that revision). */
export const hasBatch = (version: string): boolean => version === '2025-03-26'

/** A first event with an id and no data, and `retry`, came with 2025-11-25 (basic/transports, "Sending Messages to the Server", 6). */
export const hasPriming = (version: string): boolean => version >= '2025-11-25'

export const hasAudio = (version: string): boolean => version >= '2025-03-26'
export const hasResourceLink = (version: string): boolean => version >= '2025-06-18'
export const hasStructuredContent = (version: string): boolean => version >= '2025-06-18'
export const hasElicitation = (version: string): boolean => version >= '2025-06-18'
export const hasElicitationMode = (version: string): boolean => version >= '2025-11-25'
export const hasSamplingArrays = (version: string): boolean => version >= '2025-11-25'
export const hasTasks = (version: string): boolean => version === '2025-11-25'
