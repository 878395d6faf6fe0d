/** Writes docs/robustness.md anew. */
import { writeFileSync } from 'node:fs'
import { matrix, page } from './matrix.ts'

writeFileSync(new URL(`../../${page}`, import.meta.url), matrix())
