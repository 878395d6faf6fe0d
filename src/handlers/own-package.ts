import { registerHooks } from 'node:module'
import { extname } from 'node:path'

/** `.js` as built, `.ts` in a checkout. */
const extension = extname(import.meta.url)
const own: Readonly<Record<string, string>> = {
  causeway: new URL(`../index${extension}`, import.meta.url).href,
  'causeway/testing': new URL(`../testing${extension}`, import.meta.url).href
}

const missing = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])
let offered = false

/**
 * Handlers that import `causeway` where it is not installed beside them (the gateway is installed globally, or in an image)
 * get the copy that serves them. Once for the whole process.
 */
export function offerOwnPackage(): void {
  if (offered) return
  offered = true
  registerHooks({
    resolve(specifier, context, next) {
      if (!Object.hasOwn(own, specifier)) return next(specifier, context)
      try {
        return next(specifier, context)
      } catch (error) {
        if (!missing.has((error as NodeJS.ErrnoException).code ?? '')) throw error
        return next(own[specifier]!, context)
      }
    }
  })
}
