import { DELIVERIES } from '../../domain/delivery/responses.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { callFor, type Connection } from '../service/client.ts';
import type { Item } from '../service/resource-requests.ts';

/** The columns of a key on its name servers. */
export const DELIVERY_COLUMNS = ['name_server', 'state', 'verified_at', 'error'];

/** How long a request waits, in seconds. It is shorter than the time limit of a request. */
const WAIT_SECONDS = 10;

/** How long a command waits in all, in milliseconds. */
const MAX_WAIT_MS = 60_000;

/** Where a key works. */
export interface Deliveries {
  readonly rows: readonly Item[];
  readonly isDelivered: boolean;
  readonly isPending: boolean;
  /** The error to throw if a name server does not have the key. */
  readonly failure: CommandError;
}

/** Reads where the key with this path works. Throws `CommandError`. */
export async function readDeliveries(
  connection: Connection,
  path: string,
  waitSeconds: number,
): Promise<Deliveries> {
  const target = `${path}/deliveries?wait=${waitSeconds}`;
  const { state, servers } = await callFor(DELIVERIES, connection, 'GET', target);
  const all = [...servers];
  const rows = all.map(({ error, ...others }) => ({
    ...others,
    error: error === null ? null : `${error.code}: ${error.message}`,
  }));
  const lacking = rows.filter(({ state: each }) => each !== 'delivered');
  return {
    rows,
    isDelivered: state === 'delivered' || state === 'none',
    isPending: state === 'pending' || state === 'removing',
    failure: new CommandError(
      EXIT.refused,
      `The key does not work on ${lacking.length} of ${rows.length} name servers`,
      lacking
        .map(
          (row) => `${row.name_server}: ${row.state}${row.error === null ? '' : ` (${row.error})`}`,
        )
        .join('\n'),
    ),
  };
}

/** Waits up to 60 s until no name server is pending. Throws `CommandError`. */
export async function waitForDelivery(
  connection: Connection,
  path: string,
  { now, err }: Pick<Terminal, 'now' | 'err'>,
): Promise<Deliveries> {
  const until = now() + MAX_WAIT_MS;
  let shown = await readDeliveries(connection, path, WAIT_SECONDS);
  while (shown.isPending && now() < until)
    shown = await readDeliveries(connection, path, WAIT_SECONDS);
  if (shown.rows.length === 0)
    err.write(
      `${plainText('The pool of the key has no name server, so nothing was delivered.')}\n`,
    );
  return shown;
}
