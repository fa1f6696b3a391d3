import { setTimeout as pause } from 'node:timers/promises';
import type { ValueOf } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { nameServer } from '../../resources/name-server.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { firstOf } from '../../core/text/first-of.ts';
import type { Run as CommandRun } from '../../cli/flags/command.ts';
import { configFile, toggle, type ValuesOf } from '../../cli/flags/flag.ts';
import { observe, type Observed } from './plan.ts';
import { readRunningServer, type KeySource } from '../../keys/commands/key-file.ts';
import { poolZones } from '../../keys/commands/import-plan.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { plainLines } from '../../cli/output/plain-text.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import { findPath, withHints } from '../../cli/service/resource-requests.ts';
import type { EditableFiles, FileOpener } from './editable-files.ts';

const { fields } = nameServer;
const SERVER = responseObject({
  name: fields.name,
  address: fields.address,
  rights: fields.rights,
  state: fields.state,
  error: fields.error,
  pool_id: fields.pool_id,
  pending_since: fields.pending_since,
});

export type Server = ValueOf<typeof SERVER>;

const POLL_MS = 300;

export const LIVE_MS = 60_000;

export const SHOWN = 10;

/** What a command has that edits the configuration of a name server. */
export const EDITING = {
  argument: ['<nameserver>', 'name of the nameserver, on whose host the command runs'],
  flags: {
    config: configFile('read this configuration file of the service or of the agent on this host'),
    write: toggle('apply the edits, and put the former files back if a step fails'),
  },
  asks: 'before --write edits the configuration',
} as const;

export interface Run {
  readonly connection: Connection;
  /** The path of the name server in the API. */
  readonly path: string;
  readonly server: Server;
  /** Undefined for a server that stores its keys in a database. */
  readonly files: EditableFiles | undefined;
  running(): Promise<KeySource>;
  readonly terminal: Terminal;
}

/** Loads what opens the files of name servers of this machine. */
export type LoadOpener = () => Promise<FileOpener>;

export async function start(
  {
    argument: given,
    connect,
    flags: { config },
    terminal,
  }: CommandRun<string, ValuesOf<typeof EDITING.flags>>,
  load: LoadOpener,
): Promise<Run> {
  const connection = await connect();
  const [path, server] = await withHints(nameServer, async () => {
    const found = await findPath(connection, nameServer, given);
    return [found, await callFor(SERVER, connection, 'GET', found)] as const;
  });
  const { openFiles, readNameServer } = await load();
  const zones = async () =>
    ((await poolZones(connection, server.pool_id)) ?? []).map(comparisonForm);
  const running = async () => readRunningServer(await readNameServer(config, server.name, zones));
  const files = await openFiles(config, server.name);
  return { connection, path, server, running, terminal, files };
}

export function assertNotStopped(signal?: AbortSignal): void {
  if (signal?.aborted === true) throw new CommandError(EXIT.interrupted, 'Stopped');
}

/** Returns whether a name server has a state with all changes of its keys. */
export function hasState(server: Server, wanted: Server['state']): boolean {
  return server.state === wanted && server.pending_since === null;
}

/** Waits until a name server has a state, and returns it as it is then, or after `limitMs`. */
export async function stateOf(
  { connection, path, terminal }: Run,
  wanted: Server['state'],
  limitMs: number,
  signal?: AbortSignal,
): Promise<Server> {
  const until = terminal.now() + limitMs;
  for (;;) {
    const server = await callFor(SERVER, connection, 'GET', path);
    if (hasState(server, wanted)) return server;
    assertNotStopped(signal);
    if (terminal.now() > until) return server;
    await pause(POLL_MS);
  }
}

export async function untilLive(run: Run, limitMs: number, signal?: AbortSignal): Promise<void> {
  const { name, state, error } = await stateOf(run, 'live', limitMs, signal);
  if (state === 'live') return;
  throw new CommandError(
    EXIT.refused,
    `'${name}' is not live, but '${state}'${error === null ? '' : `: ${error}`}`,
  );
}

/** Throws `CommandError` if a name server accepts or refuses other requests than before. */
export async function assertSame(
  { server, terminal }: Run,
  observed: Observed,
  before: ReadonlyMap<string, boolean>,
): Promise<void> {
  const changesOf = (after: ReadonlyMap<string, boolean>) =>
    [...before].flatMap(([request, accepted]) =>
      after.get(request) === accepted ? [] : [`${accepted ? 'refused' : 'accepted'}: ${request}`],
    );
  let changes: readonly string[] = [];
  // NSD accepts its new keys a few milliseconds after it reports them.
  for (let tries = 3; tries > 0; tries -= 1) {
    changes = changesOf(await observe(server.address, observed, terminal.now));
    if (changes.length === 0) return;
    await pause(POLL_MS);
  }
  throw new CommandError(
    EXIT.refused,
    'The name server does not accept and refuse the same requests as before',
    firstOf(changes, SHOWN, String).join('\n'),
  );
}

export function print(text: string, { out }: Terminal): void {
  // Configurations are indented with tabs too.
  out.write(`${text.split('\t').map(plainLines).join('\t')}\n`);
}
