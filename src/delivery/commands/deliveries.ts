import { setTimeout as pause } from 'node:timers/promises';
import { DELIVERIES, isPending, lacksAgent, REMOVING, type DeliveryState } from '../responses.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { joined } from '../../core/text/joined.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { toggle } from '../../cli/flags/flag.ts';
import type { Delivery, Holders } from '../../cli/flags/resource-command.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { printList } from '../../cli/output/output.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { callFor, ifReadable, type Connection } from '../../cli/service/client.ts';
import { findPath, withHints, type Item } from '../../cli/service/resource-requests.ts';

/** The maximum wait of the service before it responds, in seconds. Requests may take longer. */
const WAIT_SECONDS = 10;

export const MAX_WAIT_MS = 60_000;

/** How long an agent that was just started may take to report, in seconds. */
const AGENT_START_SECONDS = 5;

/** The minimum between two requests: a service with too many waiting requests responds at once. */
export const INTERVAL_MS = 500;

export interface Deliveries {
  readonly rows: readonly (Holder & Item)[];
  readonly isDelivered: boolean;
  /** Whether any delivery is pending, even if another delivery has failed. */
  readonly isPending: boolean;
  /** Whether the agent of a name server is not reporting. It may have just been started. */
  readonly isWithoutAgent: boolean;
  /** The error to throw if a name server does not have the key. */
  readonly failure: CommandError;
}

/** Waits up to `waitSeconds` for pending deliveries of the key at `path`. Throws `CommandError`. */
export async function readDeliveries(
  connection: Connection,
  path: string,
  waitSeconds: number,
): Promise<Deliveries> {
  const target = `${path}/deliveries?wait=${waitSeconds}`;
  const { state, servers } = await callFor(DELIVERIES, connection, 'GET', target);
  const rows = servers.map(({ error, ...others }) => ({
    ...others,
    error: error === null ? null : `${error.code}: ${error.message}`,
  }));
  const lacking = rows.filter(({ state: each }) => each !== 'delivered');
  return {
    rows,
    isDelivered: state === 'delivered' || state === 'none',
    isPending: isPending({ servers }),
    isWithoutAgent: lacksAgent({ servers }),
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
    : [`Run 'tsigil nameserver check ${faulty.name_server}' to find the cause.`];
}

/**
 * Waits until `until`, or up to 60 s, until no delivery is pending, and up to 5 s for an agent that is not reporting.
 * Throws `CommandError`.
 */
async function waitForDelivery(
  connection: Connection,
  path: string,
  { now, err }: Pick<Terminal, 'now' | 'err'>,
  until = now() + MAX_WAIT_MS,
): Promise<Deliveries> {
  let began = now();
  const agentUntil = began + AGENT_START_SECONDS * 1000;
  const secondsLeft = (most: number) =>
    Math.min(most, Math.max(0, Math.ceil((until - began) / 1000)));
  let shown = await readDeliveries(connection, path, secondsLeft(AGENT_START_SECONDS));
  const isUnfinished = () =>
    shown.isPending ? now() < until : shown.isWithoutAgent && now() < agentUntil;
  while (isUnfinished()) {
    await pause(Math.max(0, began + INTERVAL_MS - now()));
    began = now();
    shown = await readDeliveries(connection, path, secondsLeft(WAIT_SECONDS));
  }
  if (shown.rows.length === 0)
    writeLine(err, 'The pool of the key has no name server, so nothing was delivered.');
  return shown;
}

const MAX_NAMES = 10;

interface Holder {
  readonly name_server: string;
  readonly state: DeliveryState;
  readonly error: string | null;
  readonly delivered_version: number;
}

export async function holdersOf(
  connection: Connection,
  key: Pick<Holders, 'name' | 'path'>,
  isNeeded: boolean,
): Promise<Holders> {
  const read = () => readDeliveries(connection, key.path, 0);
  const { rows = [] } = (await (isNeeded ? read() : ifReadable(read))) ?? {};
  const holding = rows.filter(({ delivered_version: version }) => version > 0);
  return { ...key, servers: namesOf(holding), loss: describeLoss(holding) };
}

function describeLoss(holding: readonly Holder[]): string {
  const [losing = [], keeping = []] = [true, false].map((isReached) =>
    holding.filter(({ state }) => (state !== 'paused' && state !== 'failed') === isReached),
  );
  return [
    ...(losing.length > 0
      ? [`${listed(namesOf(losing))} ${losing.length === 1 ? 'loses' : 'lose'} it`]
      : []),
    ...keeping.map(
      ({ name_server: name, state, error }) =>
        `${name} keeps it until delivery works again (${error ?? state})`,
    ),
  ]
    .map((clause) => `; ${clause}`)
    .join('');
}

function namesOf(servers: readonly Holder[]): string[] {
  return servers.map(({ name_server: name }) => name);
}

function describeReplacement({ name, servers }: Holders): string {
  return `The key '${name}' is on ${listed(servers)}. The new secret replaces the former one there within seconds, and every client that still uses the former one is refused until you configure the new one.`;
}

function listed(servers: readonly string[]): string {
  const others = servers.slice(MAX_NAMES).length;
  const rest = others > 0 ? [`${others} other name servers`] : [];
  return joined([...servers.slice(0, MAX_NAMES), ...rest], 'and');
}

/**
 * Waits up to 60 s until the name servers that had the deleted keys refuse them, and reports each
 * key. Throws `CommandError` if a name server still has one.
 */
export async function waitForRemoval(
  connection: Connection,
  deleted: readonly Holders[],
  terminal: Pick<Terminal, 'now' | 'out' | 'err'>,
  done = 'Deleted',
): Promise<void> {
  const until = terminal.now() + MAX_WAIT_MS;
  const remaining: string[] = [];
  let hint: string | undefined;
  for (const { name, path, servers } of deleted) {
    try {
      const { rows, failure } = await waitForDelivery(connection, path, terminal, until);
      remaining.push(`${name} (${rows.length} of ${servers.length} name servers)`);
      hint ??= failure.hint;
    } catch (error) {
      if (!(error instanceof CommandError && error.status === 404)) throw error;
      writeLine(terminal.out, `${name}: removed from ${listed(servers)}, and refused there`);
    }
  }
  if (remaining.length > 0)
    throw new CommandError(
      EXIT.refused,
      `${done}, but still on name servers: ${remaining.join(', ')}`,
      hint,
    );
}

export async function reportRemoving(
  connection: Connection,
  { name }: Item,
  { err }: Pick<Terminal, 'err'>,
): Promise<void> {
  const names = await removingFrom(connection, name);
  if (names.length === 0) return;
  const more = names.length > MAX_NAMES ? ', ...' : '';
  const shown = `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
  writeLine(err, `Deleted keys that are still on the name server: ${shown}`);
}

/** Returns the names of the deleted keys that are still on a name server. */
export async function removingFrom(connection: Connection, name: unknown): Promise<string[]> {
  const { deliveries } = await callFor(REMOVING, connection, 'GET', REMOVING_PATH);
  return deliveries.filter((each) => each.name_server === name).map(({ key_name: key }) => key);
}

const REMOVING_PATH = '/v2/deliveries?state=removing';

/** Waits for the delivery of the key at `path`. Throws `CommandError` if a name server lacks it. */
export async function waitUntilDelivered(
  connection: Connection,
  path: string,
  terminal: Terminal,
): Promise<void> {
  const { isDelivered, failure } = await waitForDelivery(connection, path, terminal);
  if (!isDelivered) throw failure;
}

export const KEY_DELIVERY: Delivery = {
  waitUntilDelivered,
  holdersOf,
  describeReplacement,
  waitForRemoval,
};

export const keyStatus = defineCommand({
  name: 'status',
  description:
    'show on which name servers a tsigkey works; exit with 1 if a name server lacks the key',
  argument: ['<tsigkey>', 'id or name of the tsigkey'],
  flags: { wait: toggle('wait up to 60 seconds until no delivery is pending') },
  columns: ['name_server', 'state', 'verified_at', 'error'],
  examples: ['tsigil tsigkey status transfer', 'tsigil tsigkey status transfer --wait -f json'],
  async run({ argument: idOrName, columns, connect, flags, terminal }) {
    const connection = await connect();
    const shown = await withHints(tsigkey, async () => {
      const path = await findPath(connection, tsigkey, idOrName);
      return flags.wait === true
        ? waitForDelivery(connection, path, terminal)
        : readDeliveries(connection, path, 0);
    });
    printList(terminal, shown.rows, columns, flags);
    if (!shown.isDelivered) throw shown.failure;
  },
});
