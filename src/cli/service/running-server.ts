/**
 * A running name server in the configuration of the service. `printed` is what it runs: a text that
 * `program` prints in an import format, or the API that shows it.
 */
export interface RunningServer {
  /** The name or id of its pool. */
  readonly pool: string;
  readonly printed:
    | { readonly format: 'bind' | 'knot' | 'nsd'; readonly program: string; readonly text: string }
    | { readonly format: 'powerdns'; readonly url: string; readonly apiKey: string };
}

/**
 * Reads the configuration of a running name server of this machine, which contains secrets.
 * `config` is the configuration file of the service. Throws `CommandError`.
 */
export type ReadRunningServer = (
  config: string | undefined,
  name: string,
) => Promise<RunningServer>;
