/**
 * Schemas as authors give them: plain JSON Schema (2020-12, or draft-07 when `$schema` says so), or any library that
 * implements Standard Schema (https://standardschema.dev) and can tell its JSON Schema, such as zod 4.
 */

/** What a Standard Schema library answers to `validate`. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Standard JSON Schema. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

export interface JsonSchema {
  readonly $schema?: string
  readonly type?: string | readonly string[]
  readonly [keyword: string]: unknown
}

export type Schema = StandardSchema | JsonSchema

/** The value that a schema describes, as the handler gets it. */
export type Infer<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : S extends { readonly static: infer T }
    ? T
    : string extends keyof S
      ? Record<string, unknown>
      : FromJson<S>

type Required<S> = S extends { readonly required: readonly (infer R)[] } ? R : never

type FromJson<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: 'string' }
      ? string
      : S extends { readonly type: 'number' | 'integer' }
        ? number
        : S extends { readonly type: 'boolean' }
          ? boolean
          : S extends { readonly type: 'null' }
            ? null
            : S extends { readonly type: 'array' }
              ? S extends { readonly items: infer I }
                ? FromJson<I>[]
                : unknown[]
              : S extends { readonly properties: infer P }
                ? Flat<
                    { [K in keyof P as K extends Required<S> ? K : never]: FromJson<P[K]> } & {
                      [K in keyof P as K extends Required<S> ? never : K]?: FromJson<P[K]>
                    }
                  >
                : S extends { readonly type: 'object' }
                  ? Record<string, unknown>
                  : unknown

type Flat<T> = { -readonly [K in keyof T]: T[K] }

export const isStandard = (schema: Schema): schema is StandardSchema =>
  typeof (schema as { '~standard'?: { validate?: unknown } })['~standard']?.validate === 'function'
