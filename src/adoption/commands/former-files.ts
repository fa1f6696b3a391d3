/**
 * Returns the former files that adoptions have left beside those of the name servers of this machine,
 * as far as this process can read their configurations. `config` is the configuration file of the
 * service, or of the agent of a name server.
 */
export type FormerFiles = (config: string | undefined) => Promise<readonly string[]>;

/** What `tsigil status` says about these files. */
export const formerFiles = (load: () => Promise<{ readonly formerFiles: FormerFiles }>) => ({
  member: 'former_files',
  section: 'former files',
  flag: 'the files that an adoption has left beside those of the name servers in this configuration file of the service or of the agent on this host',
  find: async (config: string | undefined) => (await load()).formerFiles(config),
  describe: (paths: readonly string[]) =>
    `Adoptions have left, with secrets: ${paths.map((path) => `'${path}'`).join(', ')}. Delete them once all is well.`,
});
