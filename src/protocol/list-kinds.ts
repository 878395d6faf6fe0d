/**
 * The lists that can change, by their capability: what a filter calls them (2026-07-28 basic/patterns/subscriptions,
 * "Notification Filter"), and what is said when they change.
 */
export const listKinds: Readonly<Record<string, { readonly key: string; readonly method: string }>> = {
  tools: { key: 'toolsListChanged', method: 'notifications/tools/list_changed' },
  prompts: { key: 'promptsListChanged', method: 'notifications/prompts/list_changed' },
  resources: { key: 'resourcesListChanged', method: 'notifications/resources/list_changed' }
}
