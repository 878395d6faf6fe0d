import type { Era } from '../protocol/version.ts'
import type { Live } from './lifecycle.ts'

/** The era that its client speaks. */
export const eraOf = (live: Live): Era => (live.modern === true ? 'modern' : 'legacy')
