import { setTimeout as pause } from 'node:timers/promises';
import { Option } from 'commander';
import { DELIVERIES, REMOVING, type DeliveryState } from '../../domain/delivery/responses.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { FlagValues } from '../flags/resource-flags.ts';
import type { ResourceCommand } from '../flags/resource-table.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { callFor, type Connection } from '../service/client.ts';
import type { Item } from '../service/resource-requests.ts';

export const DELIVERY_COLUMNS = ['name_server', 'state', 'verified_at', 'error'];

/** The maximum wait of the service before it responds, in seconds. Requests may take longer. */
const WAIT_SECONDS = 10;

const MAX_WAIT_MS = 60_000;

/** How long an agent that was just started may take to report. */
const AGENT_START_MS = 5000;

/**
 * The minimum time between two requests, in milliseconds. A service with too many waiting requests
 * responds at once.
 */
const INTERVAL_MS = 500;

export interface Deliveries {
  readonly rows: readonly Item[];
  readonly isDelivered: boolean;
  /** Whether any delivery is pending, even if another delivery has failed. */
  readonly isPending: boolean;
  /** Whether the agent of a name server is not reporting. It may have just been started. */
  readonly isWithoutAgent: boolean;
  /** The error to throw if a name server does not have the key. */
  readonly failure: CommandError;
}

/**
 * Reads the deliveries of the key at `path`. The service waits up to `waitSeconds` for pending
 * deliveries. Throws `CommandError`.
 */
export async function readDeliveries(
  connection: Connection,
  path: string,
  waitSeconds: number,
): Promise<Deliveries> {
  const target = `${path}/deliveries?wait=${waitSeconds}`;
  const { state, servers } = await callFor(DELIVERIES, connection, 'GET', target);
  const isWithoutAgent = servers.some(({ error }) => error?.code === 'no_agent');
  const rows = servers.map(({ error, ...others }) => ({
    ...others,
    error: error === null ? null : `${error.code}: ${error.message}`,
  }));
  const lacking = rows.filter(({ state: each }) => each !== 'delivered');
  return {
    rows,
    isDelivered: state === 'delivered' || state === 'none',
    isPending: rows.some(({ state: each }) => each === 'pending' || each === 'removing'),
    isWithoutAgent,
    failure: new CommandError(
      EXIT.refused,
      `The key does not work on ${lacking.length} of ${rows.length} name servers`,
      lacking
        .map(
          (row) => `${row.name_server}: ${row.state}${row.error === null ? '' : ` (${row.error})`}`,
        )
        .concat(hintFor(lacking))
        .join('\n'),
    ),
  };
}

interface Lacking {
  readonly name_server: string;
  readonly state: DeliveryState;
  readonly error: string | null;
}

/** Returns what to run next. The errors of paused and unserved name servers state it themselves. */
function hintFor(lacking: readonly Lacking[]): string[] {
  if (lacking.some(({ state }) => state === 'held'))
    return ["Run 'tsigil delivery resume' to deliver the keys that are held."];
  const faulty = lacking.find(
    ({ state, error }) =>
      ['pending', 'failed', 'removing'].includes(state) &&
      !/^no_(?:agent|process)\b/.test(error ?? ''),
  );
  return faulty === undefined
    ? []
    : [
        `Run 'tsigil nameserver check ${faulty.name_server}' to find the cause, or 'tsigil agent --config FILE --check' on the host of its agent.`,
      ];
}

/**
 * Waits up to 60 s until no delivery is pending, and up to 5 s for an agent that is not reporting.
 * Throws `CommandError`.
 */
export async function waitForDelivery(
  connection: Connection,
  path: string,
  { now, err }: Pick<Terminal, 'now' | 'err'>,
): Promise<Deliveries> {
  let began = now();
  const [until, agentUntil] = [began + MAX_WAIT_MS, began + AGENT_START_MS];
  let shown = await readDeliveries(connection, path, WAIT_SECONDS);
  const isUnfinished = () =>
    shown.isPending ? now() < until : shown.isWithoutAgent && now() < agentUntil;
  while (isUnfinished()) {
    await pause(Math.max(0, began + INTERVAL_MS - now()));
    began = now();
    const seconds = Math.min(WAIT_SECONDS, Math.max(0, Math.ceil((until - began) / 1000)));
    shown = await readDeliveries(connection, path, seconds);
  }
  if (shown.rows.length === 0)
    err.write(
      `${plainText('The pool of the key has no name server, so nothing was delivered.')}\n`,
    );
  return shown;
}

const MAX_NAMES = 10;

/** Reports deleted keys that are still on a name server, if `item` is a name server. */
export async function reportRemoving(
  connection: Connection,
  { collection }: ResourceType,
  { name }: Item,
  { err }: Pick<Terminal, 'err'>,
): Promise<void> {
  if (collection !== nameServer.collection) return;
  const { deliveries } = await callFor(REMOVING, connection, 'GET', REMOVING_PATH);
  const names = deliveries
    .filter((each) => each.name_server === name)
    .map(({ key_name: key }) => key);
  if (names.length === 0) return;
  const more = names.length > MAX_NAMES ? ', ...' : '';
  const shown = `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
  err.write(`${plainText(`Deleted keys that are still on the name server: ${shown}`)}\n`);
}

const REMOVING_PATH = '/v2/deliveries?state=removing';

/** Returns the flag `--wait` if the service delivers the resources to name servers. */
export function waitOptions({ isDelivered }: ResourceCommand): Option[] {
  return isDelivered === true
    ? [new Option('--wait', 'wait up to 60 seconds until every name server has verified the key')]
    : [];
}

/**
 * With `--wait`, waits for the delivery of a resource. Throws `CommandError` if a name server does
 * not have the resource.
 */
export async function waitIfAsked(
  connection: Connection,
  { collection }: ResourceType,
  { id }: Item,
  { wait }: FlagValues,
  terminal: Terminal,
): Promise<void> {
  if (wait !== true) return;
  const path = `/v2/${collection}/${String(id)}`;
  const { isDelivered, failure } = await waitForDelivery(connection, path, terminal);
  if (!isDelivered) throw failure;
}
