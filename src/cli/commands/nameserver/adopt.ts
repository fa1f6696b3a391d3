import { setTimeout as pause } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import { matrixOf, type ServerConfiguration } from '../../../domain/access/access.ts';
import { ACCESS_READERS } from '../../../domain/access/readers.ts';
import {
  differencesAfter,
  editedSource,
  RewriteError,
  type Edit,
  type Source,
} from '../../../domain/access/rewrite.ts';
import { REWRITERS } from '../../../domain/access/rewriters.ts';
import { zonesText } from '../../../domain/access/warnings.ts';
import { RIGHTS } from '../../../domain/brands/brand.ts';
import { canonicalKey } from '../../../domain/key-formats/key.ts';
import { KeyFileError, placeOf, type IncludedFile } from '../../../domain/key-formats/reader.ts';
import { IMPORT_FORMATS } from '../../../domain/key-formats/readers.ts';
import type { ValueOf } from '../../../domain/model/field.ts';
import { responseObject } from '../../../domain/model/object.ts';
import { nameServer } from '../../../domain/resources/name-server.ts';
import { comparisonForm } from '../../../domain/text/dns-name.ts';
import { firstOf } from '../../../domain/text/first-of.ts';
import { faultOf } from '../../../net/faults.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { observe, planAdoption, type Adoption, type Observed } from '../../imports/adoption.ts';
import type { KeySource } from '../../imports/key-file.ts';
import { poolZones } from '../../imports/key-import.ts';
import { readRunningServer } from '../../imports/running-server.ts';
import { CommandError, EXIT } from '../../output/command-error.ts';
import { declareDestructive, type ConfirmationFlags } from '../../output/confirmation.ts';
import { unifiedDiff, withoutSecrets } from '../../output/diff.ts';
import { plainLines } from '../../output/plain-text.ts';
import { catchInterrupt, type Terminal } from '../../output/terminal.ts';
import { call, callFor, type Connection } from '../../service/client.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { findPath, withHints } from '../../service/resource-requests.ts';
import type { EditableFiles, LocalServers } from '../../service/running-server.ts';

const {
  name,
  address,
  rights,
  state,
  error,
  pool_id: pool,
  pending_since: since,
} = nameServer.fields;
const SERVER = responseObject({
  name,
  address,
  rights,
  state,
  error,
  pool_id: pool,
  pending_since: since,
});

type Server = ValueOf<typeof SERVER>;

/** How often the state of a name server is read, and how long it may take to become live. */
const [POLL_MS, LIVE_MS] = [300, 60_000];

/** How long the service may take to prepare a name server after its start or a change of a key. */
const PREPARED_MS = 10_000;

/** The number of problems of one kind that are shown. */
const SHOWN = 10;

interface Flags extends ConnectionFlags, ConfirmationFlags {
  readonly config?: string;
  readonly write?: true;
  readonly wait?: true;
}

/** Adds the commands that move keys from the configuration of a server to Tsigil, and back. */
export function addAdoption(
  parent: Command,
  local: () => Promise<LocalServers>,
  terminal: Terminal,
): void {
  const withFlags = (command: Command) =>
    command
      .argument('<nameserver>', 'name of the nameserver, on whose host the command runs')
      .addOption(
        new Option(
          '--config <file>',
          'read this configuration file of the service or of the agent on this host',
        ).env('TSIGIL_CONFIG'),
      )
      .option('--write', 'apply the edits, and put the former files back if a step fails');
  const adopt = withFlags(
    parent
      .command('adopt')
      .description(
        'let Tsigil take over the keys that a running nameserver has: print the edits of its configuration, which change no right; exit with 1 if the service differs from the nameserver',
      )
      .summary('take over the keys that a running nameserver has'),
  ).option('--wait', 'wait until you have applied the edits and loaded them, and verify the keys');
  const confirm = declareDestructive(adopt, 'before --write edits the configuration');
  adopt.action(async (given: string, flags: Flags) => {
    let run = await start(given, flags, local, terminal);
    if (run.files?.includesOwn === false && !hasState(run.server, 'prepared')) {
      await stateOf(run, 'prepared', PREPARED_MS);
      run = await start(given, flags, local, terminal); // Tsigil's file may be complete only now
    }
    const confirmed = () => confirm(`Apply the edits to '${run.server.name}'?`, flags, terminal);
    if (run.files === undefined) await adoptDatabase(run);
    else await adoptFiles(run, run.files, flags, confirmed);
  });
  addExamples(withConnectionFlags(adopt), [
    'tsigil nameserver adopt ns1',
    'tsigil nameserver adopt ns1 --write',
    'tsigil nameserver adopt ns1 --config /etc/tsigil-agent/agent.yaml --wait',
  ]);
  const release = withFlags(
    parent
      .command('release')
      .description(
        'give the keys of a nameserver back to its operator: they and their rights stay on it, in a file that Tsigil no longer changes',
      )
      .summary('give the keys of a nameserver back to its operator'),
  );
  const confirmRelease = declareDestructive(release, 'before --write edits the configuration');
  release.action(async (given: string, flags: Flags) => {
    const run = await start(given, flags, local, terminal);
    await releaseServer(run, flags, () =>
      confirmRelease(`Release '${run.server.name}'?`, flags, terminal),
    );
  });
  addExamples(withConnectionFlags(release), [
    'tsigil nameserver release ns1',
    'tsigil nameserver release ns1 --write',
  ]);
}

interface Run {
  readonly connection: Connection;
  /** The path of the name server in the API. */
  readonly path: string;
  readonly server: Server;
  /** Undefined for a server that stores its keys in a database. */
  readonly files: EditableFiles | undefined;
  /** Reads the keys and access lists of the running server. */
  running(): Promise<KeySource>;
  readonly terminal: Terminal;
}

async function start(
  given: string,
  flags: Flags,
  local: () => Promise<LocalServers>,
  terminal: Terminal,
): Promise<Run> {
  const connection = await connect(flags, terminal);
  const [path, server] = await withHints(nameServer, async () => {
    const found = await findPath(connection, nameServer, given);
    return [found, await callFor(SERVER, connection, 'GET', found)] as const;
  });
  const { openFiles, readNameServer } = await local();
  const zones = async () => (await poolZones(connection, server.pool_id)) ?? [];
  const running = async () =>
    readRunningServer(
      await readNameServer(flags.config, server.name, async () =>
        (await zones()).map(comparisonForm),
      ),
    );
  return {
    connection,
    path,
    server,
    running,
    terminal,
    files: await openFiles(flags.config, server.name),
  };
}

/** What is written to the configuration of a name server. */
interface Change {
  readonly edits: readonly Edit[];
  /** The file of keys and lists that the configuration includes afterwards. */
  readonly included: IncludedFile;
}

async function adoptFiles(
  run: Run,
  files: EditableFiles,
  flags: Flags,
  confirmed: () => Promise<void>,
): Promise<void> {
  const { connection, server, terminal } = run;
  const { format, own, source } = files;
  const { keys, configuration } = parsed(format, source);
  const theirs = keys.filter(({ found }) => found.file?.path !== own.path);
  const adoption = await planAdoption(connection, server, { keys: theirs, configuration });
  if (files.includesOwn)
    throw new CommandError(
      EXIT.refused,
      `The configuration of '${server.name}' already includes '${own.path}'`,
      furtherText(adoption, theirs, server),
    );
  assertEqual(adoption, server, files.kept);
  if (server.state !== 'prepared')
    throw new CommandError(
      EXIT.refused,
      `The state of '${server.name}' is '${server.state}', not 'prepared'${server.error === null ? '' : `: ${server.error}`}`,
      `Deliver its keys to '${own.path}' first. To see what is missing, run: tsigil nameserver check ${server.name}`,
    );
  const added = addedZones(adoption, configuration, (await run.running()).configuration);
  if (added.length > 0)
    throw new CommandError(
      EXIT.refused,
      `Zones that were added at run time name keys: ${zonesText(added)}`,
      [
        'No file has these zones, so no edit can change them. Move each to the configuration file, and run the command again:',
        ...firstOf(added, SHOWN, ADDED_ZONE[format] ?? String),
      ].join('\n'),
    );
  const released = releasedPath(own);
  const move = {
    keys: new Set(adoption.keys.map((key) => key.name)),
    rows: adoption.rows,
    file: own.path,
  };
  const edits = parsing(() => {
    const back = files.includeEdits(released, own.path);
    return back.length > 0 ? back : (REWRITERS[format]?.(source, move) ?? []);
  });
  const change = { edits, included: own };
  print(`${keysText(adoption.keys.length)} would move to '${own.path}'.`, terminal);
  printLeft(adoption, terminal);
  await propose(files, change, adoption, terminal);
  const observed = { ...adoption, zones: configuration.zones.map((zone) => zone.name) };
  const next =
    'Nothing was written. To apply the edits, run the command again with --write. To apply them yourself, run it with --wait first, which verifies the keys afterwards.';
  if (flags.write !== true && flags.wait !== true) {
    print(next, terminal);
    return;
  }
  const before = await observe(server.address, observed, terminal.now);
  if (flags.write !== true) {
    print('Apply these edits and reload the server. Waiting until it is live ...', terminal);
    await untilLive(run, Infinity);
    await assertSame(run, observed, before);
  } else {
    await confirmed();
    await perform(run, files, change, async (signal) => {
      await untilLive(run, LIVE_MS, signal);
      await assertSame(run, observed, before);
    });
    await files.remove(released);
  }
  print(
    `Adopted: ${keysText(adoption.keys.length)} of '${server.name}' live, and nothing else changed.`,
    terminal,
  );
}

/** Returns how the keys move that are still in the files of the operator. */
function furtherText({ keys }: Adoption, theirs: KeySource['keys'], { name: own }: Server): string {
  const names = new Set(keys.map((key) => key.name));
  const further = theirs.flatMap(({ place, found }) =>
    'key' in found && names.has(comparisonForm(found.key.name))
      ? [`  '${found.key.name}' (${place})`]
      : [],
  );
  if (further.length === 0) return 'Your own files define no key that Tsigil has.';
  return [
    'Your own files still define these keys of Tsigil:',
    ...firstOf(further, SHOWN, String),
    `To move them, name Tsigil's lists where yours name them, delete them without a reload, and run: tsigil nameserver reconcile ${own}`,
  ].join('\n');
}

/** How a zone that was added at run time moves to the configuration file, by import format. */
const ADDED_ZONE: Readonly<Record<string, (zone: string) => string>> = {
  bind: (zone) =>
    `  Append the output of 'rndc showzone ${zone}' to it, and run: rndc delzone ${zone} && rndc reconfig`,
  nsd: (zone) =>
    `  Write the zone ${zone} with its pattern to it, and run: nsd-control delzone ${zone} && nsd-control reconfig`,
};

/** Returns the zones that only the running server has, if they name keys that would move. */
function addedZones(
  { keys }: Adoption,
  { zones }: ServerConfiguration,
  running: ServerConfiguration | undefined,
): string[] {
  const known = new Set(zones.map((zone) => zone.name));
  const moved = new Set(keys.map((key) => key.name));
  const names = (running?.zones ?? []).flatMap((zone) =>
    known.has(zone.name) ||
    !RIGHTS.some((right) => zone.lists[right]?.keys.some((key) => moved.has(key)))
      ? []
      : [zone.name],
  );
  return [...new Set(names)];
}

/** The driver takes over the keys that are the same with the first delivery, where they are. */
async function adoptDatabase(run: Run): Promise<void> {
  const { connection, server, terminal } = run;
  const { keys, configuration } = await run.running();
  if (configuration === undefined) throw new TypeError('The driver shows no access lists');
  const adoption = await planAdoption(connection, server, { keys, configuration });
  // What only the service has, the next delivery adds.
  assertEqual({ ...adoption, gained: [] }, server);
  printLeft(adoption, terminal);
  await untilLive(run, LIVE_MS);
  print(
    `Adopted: ${keysText(adoption.keys.length)} of '${server.name}', where they are.`,
    terminal,
  );
}

async function releaseServer(
  run: Run,
  flags: Flags,
  confirmed: () => Promise<void>,
): Promise<void> {
  const { connection, path, server, files, terminal } = run;
  if (files !== undefined) {
    const { format, own, source } = files;
    const { keys, configuration } = parsed(format, source);
    const included = { path: releasedPath(own), text: files.plain };
    const edits = parsing(() => files.includeEdits(own.path, included.path));
    if (edits.length > 0) {
      const moved = keys.flatMap(({ found }) =>
        'key' in found && found.file?.path === own.path ? [canonicalKey(found.key)] : [],
      );
      const names = new Set(moved.map((key) => key.name));
      const rows = matrixOf(configuration).rows.filter(({ key }) => names.has(key));
      const observed = { keys: moved, rows, zones: configuration.zones.map((zone) => zone.name) };
      const change = { edits, included };
      await propose(files, change, observed, terminal);
      print(
        `'${included.path}' gets ${keysText(moved.length)}, which Tsigil no longer changes.`,
        terminal,
      );
      if (flags.write !== true) {
        print('Nothing was written. Run the command again with --write.', terminal);
        return;
      }
      const before = await observe(server.address, observed, terminal.now);
      await confirmed();
      await files.create(included);
      await perform(run, files, change, () => assertSame(run, observed, before));
    } else if (parsing(() => files.includeEdits(included.path, own.path)).length === 0)
      throw new CommandError(
        EXIT.refused,
        `The configuration of '${server.name}' does not include '${own.path}', so there is nothing to release`,
      );
  } else if (flags.write === true) await confirmed();
  else {
    print('Nothing was changed. Run the command again with --write: the keys stay.', terminal);
    return;
  }
  await call(connection, 'POST', `${path}/release`, {}).catch((cause: unknown) => {
    if (!(cause instanceof CommandError) || files === undefined) throw cause;
    throw new CommandError(
      cause.exitCode,
      `The files of '${server.name}' are changed, but the service did not release it: ${cause.message}`,
      'Run the command again.',
      cause,
    );
  });
  print(`Released: Tsigil no longer changes the keys of '${server.name}'.`, terminal);
}

/** Returns the keys and access lists of a configuration. Throws `CommandError`. */
function parsed(format: string, { text, include, path }: Source) {
  return parsing(() => {
    const configuration = ACCESS_READERS[format]?.(text, include, path);
    const entries = IMPORT_FORMATS[format]?.read(text, include, path);
    if (configuration === undefined || entries === undefined)
      throw new TypeError(`No reader of access lists is named '${format}'`);
    const keys = entries.map((found) => ({
      place: found.file === undefined ? `${path}:${found.line}` : placeOf(found),
      found,
    }));
    return { configuration, keys };
  });
}

function parsing<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof KeyFileError || cause instanceof RewriteError)) throw cause;
    const message = `The configuration cannot be edited: ${cause.message}. Nothing was changed.`;
    throw new CommandError(EXIT.refused, message, undefined, cause);
  }
}

/** The file of the operator to which the keys of Tsigil's file go back. */
function releasedPath({ path }: IncludedFile): string {
  return `${path}.released`;
}

function assertEqual(
  { problems, gained }: Pick<Adoption, 'problems' | 'gained'>,
  { name: wanted }: Server,
  kept: ReadonlyMap<string, string> = new Map(),
): void {
  if (problems.length + gained.length === 0) return;
  const undone = [...kept].map(
    ([file, former]) =>
      `'${former}' is a former '${file}'. If an adoption was interrupted, put it back first: mv ${former} ${file}`,
  );
  const remedy =
    "Compare the configuration with 'tsigil tsigkey import FILE --pool POOL --dry-run', and import it with --update.";
  throw new CommandError(
    EXIT.refused,
    `The keys of '${wanted}' differ from those in the service, so nothing was changed`,
    [
      ...firstOf(problems, SHOWN, String),
      ...(problems.length === 0 ? [] : [remedy]),
      ...firstOf(gained, SHOWN, String),
      ...undone,
    ].join('\n'),
  );
}

function printLeft({ left }: Adoption, terminal: Terminal): void {
  if (left.length === 0) return;
  print(['Left in your configuration:', ...left.map((line) => `  ${line}`)].join('\n'), terminal);
}

/** Proves the edits, and prints them without secrets. Throws `CommandError` if they change a right. */
async function propose(
  files: EditableFiles,
  { edits, included }: Change,
  { keys }: Pick<Observed, 'keys'>,
  terminal: Terminal,
): Promise<void> {
  const { source, texts } = files;
  const differences = parsing(() => differencesAfter(files.format, source, edits, included));
  if (differences.length > 0)
    throw new CommandError(
      EXIT.refused,
      'The edits would change what the configuration permits, so nothing was changed',
      firstOf(differences, SHOWN, String).join('\n'),
    );
  const mask = maskOf(keys.map(({ secret }) => secret));
  // The check has a file with secrets, which it removes.
  const { signal, release } = catchInterrupt(terminal);
  const problem = await files.check(editedSource(source, edits, included)).finally(release);
  assertNotStopped(signal);
  if (problem !== undefined)
    throw new CommandError(
      EXIT.refused,
      'The name server refuses the configuration with these edits, so nothing was changed',
      mask(problem).trim().split('\n').slice(0, SHOWN).join('\n'),
    );
  const paths = new Set(edits.map(({ file }) => file));
  for (const path of paths) {
    const own = edits.filter(({ file }) => file === path);
    print(mask(unifiedDiff(path, texts.get(path) ?? '', own)).trimEnd(), terminal);
  }
}

/** Returns a function that replaces secrets in the text of a configuration. */
function maskOf(secrets: readonly string[]): (text: string) => string {
  return (text) =>
    withoutSecrets(secrets.reduce((masked, secret) => masked.replaceAll(secret, '...'), text));
}

/** Applies edits, and loads them. Puts the former files back if a step fails. */
async function perform(
  { server, terminal }: Run,
  files: EditableFiles,
  { edits }: Change,
  verified: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal, release } = catchInterrupt(terminal);
  try {
    await files.write(edits);
    try {
      await files.load();
      await verified(signal);
      assertNotStopped(signal);
    } catch (cause) {
      const undone = await files.undo().then(
        () => `The former files of '${server.name}' are back`,
        (error: unknown) =>
          `Not all former files of '${server.name}' are back (${faultOf(error).message})`,
      );
      const outcome = await files.load().then(
        () => 'and loaded',
        (error: unknown) => `but it does not load them (${faultOf(error).message})`,
      );
      if (!(cause instanceof CommandError)) throw cause;
      throw new CommandError(
        cause.exitCode,
        `${undone}, ${outcome}: ${cause.message}`,
        cause.hint,
        cause,
      );
    }
  } finally {
    release();
  }
}

function assertNotStopped(signal?: AbortSignal): void {
  if (signal?.aborted === true) throw new CommandError(EXIT.interrupted, 'Stopped');
}

/** Returns whether a name server has a state with all changes of its keys. */
function hasState(server: Server, wanted: Server['state']): boolean {
  return server.state === wanted && server.pending_since === null;
}

/** Waits until a name server has a state, and returns it as it is then, or after `limitMs`. */
async function stateOf(
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

/** Waits until a name server is live. Throws `CommandError` after `limitMs`. */
async function untilLive(run: Run, limitMs: number, signal?: AbortSignal): Promise<void> {
  const { name: own, state: now, error: reason } = await stateOf(run, 'live', limitMs, signal);
  if (now === 'live') return;
  throw new CommandError(
    EXIT.refused,
    `'${own}' is not live, but '${now}'${reason === null ? '' : `: ${reason}`}`,
  );
}

/** Throws `CommandError` if a name server accepts or refuses other requests than before. */
async function assertSame(
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

function keysText(count: number): string {
  return `${count} ${count === 1 ? 'key' : 'keys'}`;
}

function print(text: string, { out }: Terminal): void {
  // Configurations are indented with tabs too.
  out.write(`${text.split('\t').map(plainLines).join('\t')}\n`);
}
