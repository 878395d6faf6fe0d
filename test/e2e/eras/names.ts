/** The columns of the matrix. */

export const clients = ['SDK v1', 'SDK v2, legacy', 'SDK v2, modern'] as const
export type ClientName = (typeof clients)[number]

export const backends = ['SDK v1, http', 'SDK v1, stdio', 'SDK v2, http', 'SDK v2, stdio', 'module'] as const
export type BackendName = (typeof backends)[number]

export const legacyClients: readonly ClientName[] = ['SDK v1', 'SDK v2, legacy']
export const modernClients: readonly ClientName[] = ['SDK v2, modern']
export const legacyBackends: readonly BackendName[] = ['SDK v1, http', 'SDK v1, stdio']
export const modernBackends: readonly BackendName[] = ['SDK v2, http', 'SDK v2, stdio']
