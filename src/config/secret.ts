/** Whether what stands at a path of the file is nobody's business: headers to backends, variables of programs, keys. */
export const isSecret = (path: readonly PropertyKey[]): boolean =>
  path[0] === 'secrets' ||
  ((path[0] === 'backends' || path[0] === 'mcpServers') &&
    path.length > 3 &&
    (path[2] === 'headers' || path[2] === 'env'))

/** A text without the credentials and the parameters of URLs, malformed ones too. */
export const withoutSecrets = (text: string): string =>
  text.replace(/(\/\/)\S*@|[^\s/:]+:[^\s/@][^\s@]*@/g, '$1***@').replace(/([?&][^=&#\s]+=)[^&#\s]+/g, '$1***')
