/** The oldest Node that will do, as `engines` in package.json has it. */
export const leastNode = '22.19'

/** Why this version will not do; undefined when it does. Node itself would only tell of some name that is not there. */
export const tooOld = (version: string): string | undefined => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = leastNode.split('.').map(Number)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined
  return `Node ${leastNode} or later is needed, this is ${version}. In a clone, npm ci brings one: npx node dist/cli/main.js`
}
