import { jsonSchemaText } from '../config/json-schema.ts'
import { type ExitCode, exit, type Output } from './exit.ts'

/** Prints the JSON Schema of the config. */
export const schema = ({ out }: Output): ExitCode => {
  out(jsonSchemaText())
  return exit.ok
}
