/**
 * A running name server of this machine. `printed` is what it runs: a text that `program` prints in
 * an import format, or the API that shows it.
 */
export interface RunningServer {
  /** The name or id of its pool, or undefined if the configuration does not say it. */
  readonly pool: string | undefined;
  readonly printed:
    | { readonly format: 'bind' | 'knot' | 'nsd'; readonly program: string; readonly text: string }
    | { readonly format: 'powerdns'; readonly url: string; readonly apiKey: string };
}

/**
 * Reads the configuration of a running name server of this machine, which contains secrets.
 * `config` is the configuration file of the service, or of the agent of the name server. `zones`
 * returns the names of zones that the server may have besides those in its files. Throws
 * `CommandError`.
 */
export type ReadRunningServer = (
  config: string | undefined,
  name: string,
  zones: () => Promise<readonly string[]>,
) => Promise<RunningServer>;
