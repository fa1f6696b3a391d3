import type { ServerConfiguration } from '../../access/access.ts';
import { findBrand } from '../../brands/brands.ts';
import { REWRITERS } from '../../brands/rewriters.ts';
import { policyZonesText, zonesWithoutList } from '../../access/zones-without-list.ts';
import { zonesText } from '../../access/warnings.ts';
import { listName, RIGHTS } from '../../access/rights.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { counted } from '../../core/text/counted.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { toggle } from '../../cli/flags/flag.ts';
import { observe, planAdoption, type Adoption, type Observed } from './plan.ts';
import type { KeySource } from '../../keys/commands/key-file.ts';
import { poolZones } from '../../keys/commands/import-plan.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import type { Connection } from '../../cli/service/client.ts';
import type { EditableFiles } from './editable-files.ts';
import {
  parsed,
  parsing,
  perform,
  propose,
  releasedPath,
  reportKept,
  type Change,
} from './configuration-edits.ts';
import {
  assertSame,
  EDITING,
  hasState,
  LIVE_MS,
  print,
  SHOWN,
  start,
  stateOf,
  untilLive,
  type LoadOpener,
  type Run,
  type Server,
} from './server-run.ts';

/** How long the service may take to prepare a name server after its start or a change of a key. */
const PREPARED_MS = 10_000;

export const adoption = (load: LoadOpener) =>
  defineCommand({
    name: 'adopt',
    description:
      'let Tsigil take over the keys that a running nameserver has: print the edits of its configuration, which change no right; exit with 1 if the service differs from the nameserver',
    summary: 'take over the keys that a running nameserver has',
    ...EDITING,
    flags: {
      ...EDITING.flags,
      wait: toggle('wait until you have applied the edits and loaded them, and verify the keys'),
    },
    examples: [
      'tsigil nameserver adopt ns1',
      'tsigil nameserver adopt ns1 --write',
      'tsigil nameserver adopt ns1 --config /etc/tsigil-agent/agent.yaml --wait',
    ],
    async run(command) {
      let run = await start(command, load);
      if (run.files?.includesOwn === false && !hasState(run.server, 'prepared')) {
        await stateOf(run, 'prepared', PREPARED_MS);
        run = await start(command, load); // Tsigil's file may be complete only now
      }
      const { connection, files, server, terminal } = run;
      if (files === undefined) {
        await adoptDatabase(run);
        return;
      }
      const plan = await planMove(run, files);
      await propose(files, plan.change, plan.adoption, terminal);
      const isApplied = await applyMove(run, files, plan, command.flags, () =>
        command.confirm(`Apply the edits to '${server.name}'?`),
      );
      if (!isApplied) return;
      print(
        `Adopted: ${counted(plan.adoption.keys.length, 'key')} of '${server.name}' live, and nothing else changed.`,
        terminal,
      );
      const { files: after } = await start(command, load);
      if (after !== undefined) {
        const { configuration } = parsed(after.format, after.source);
        await printUnnamed(connection, server, configuration, terminal);
      }
      await reportKept(files, terminal);
    },
  });

interface Move {
  readonly adoption: Adoption;
  readonly change: Change;
  readonly observed: Observed;
}

/** Says what would move. Throws `CommandError` if something stands in the way. */
async function planMove(run: Run, files: EditableFiles): Promise<Move> {
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
  assertEqual(adoption, server, files.formerFiles);
  assertPrepared(server, own.path);
  assertInFiles(adoption, configuration, (await run.running()).configuration, format);
  const edits = parsing(() => {
    const back = files.includeEdits(releasedPath(own), own.path);
    if (back.length > 0) return back;
    const names = new Set(adoption.keys.map((key) => key.name));
    const move = { keys: names, rows: adoption.rows, file: own.path };
    return REWRITERS[format]?.(source, move) ?? [];
  });
  print(`${counted(adoption.keys.length, 'key')} would move to '${own.path}'.`, terminal);
  printLeft(adoption, terminal);
  const zones = configuration.zones.map((zone) => zone.name);
  return { adoption, change: { edits, included: own }, observed: { ...adoption, zones } };
}

/**
 * Applies the edits with `--write`, or waits with `--wait` until the operator has, and compares what
 * the server accepts then with before. Returns false without either flag.
 */
async function applyMove(
  run: Run,
  files: EditableFiles,
  { change, observed }: Move,
  flags: { readonly write?: true; readonly wait?: true },
  confirmed: () => Promise<void>,
): Promise<boolean> {
  const { server, terminal } = run;
  if (flags.write !== true && flags.wait !== true) {
    print(
      'Nothing was written. To apply the edits, run the command again with --write. To apply them yourself, run it with --wait first, which verifies the keys afterwards.',
      terminal,
    );
    return false;
  }
  const before = await observe(server.address, observed, terminal.now);
  if (flags.write !== true) {
    print('Apply these edits and reload the server. Waiting until it is live ...', terminal);
    await untilLive(run, Infinity);
    await assertSame(run, observed, before);
    return true;
  }
  await confirmed();
  await perform(run, files, change, async (signal) => {
    await untilLive(run, LIVE_MS, signal);
    await assertSame(run, observed, before);
  });
  await files.editor.remove(releasedPath(files.own));
  return true;
}

async function printUnnamed(
  connection: Connection,
  server: Server,
  configuration: ServerConfiguration,
  terminal: Terminal,
): Promise<void> {
  const known = new Set((await poolZones(connection, server.pool_id))?.map(comparisonForm));
  const zones = configuration.zones.filter(({ name }) => known.has(name));
  for (const right of server.rights) {
    const without = zonesWithoutList(zones, right);
    if (without.length === 0) continue;
    const rights = server.rights.filter((each) => each !== right);
    const limit = rights.map((each) => ` --right ${each}`).join('');
    const cure =
      limit === '' ? '' : `, or create keys without this right: tsigil tsigkey create NAME${limit}`;
    print(
      `No list for the right to ${right}: ${zonesText(without)}. No key of Tsigil gets it there. Name the list '${listName(right)}' in the configuration${cure}`,
      terminal,
    );
  }
  const policies = server.rights.includes('update') ? policyZonesText(zones) : undefined;
  if (policies !== undefined)
    print(
      `\`update-policy\` decides who may update: ${policies}. It stays in the configuration, so no list of Tsigil has an effect there. Let it name each successor of a key that it names.`,
      terminal,
    );
}

function furtherText({ keys }: Adoption, theirs: KeySource['keys'], { name }: Server): string {
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
    `To move them, name Tsigil's lists where yours name them, delete them without a reload, and run: tsigil nameserver reconcile ${name}`,
  ].join('\n');
}

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
    `Adopted: ${counted(adoption.keys.length, 'key')} of '${server.name}', where they are.`,
    terminal,
  );
}

/** Throws `CommandError` if zones that no file has name keys that would move. */
function assertInFiles(
  adoption: Adoption,
  configuration: ServerConfiguration,
  running: ServerConfiguration | undefined,
  format: string,
): void {
  const added = addedZones(adoption, configuration, running);
  if (added.length === 0) return;
  const move = findBrand(format)?.moveAddedZone;
  throw new CommandError(
    EXIT.refused,
    `Zones that were added at run time name keys: ${zonesText(added)}`,
    [
      'No file has these zones, so no edit can change them. Move each to the configuration file, and run the command again:',
      ...firstOf(added, SHOWN, (zone) => (move === undefined ? zone : `  ${move(zone)}`)),
    ].join('\n'),
  );
}

function assertPrepared({ name, state, error }: Server, path: string): void {
  if (state === 'prepared') return;
  throw new CommandError(
    EXIT.refused,
    `The state of '${name}' is '${state}', not 'prepared'${error === null ? '' : `: ${error}`}`,
    `Deliver its keys to '${path}' first. To see what is missing, run: tsigil nameserver check ${name}`,
  );
}

function assertEqual(
  { problems, gained }: Pick<Adoption, 'problems' | 'gained'>,
  { name }: Server,
  kept: ReadonlyMap<string, string> = new Map(),
): void {
  if (problems.length + gained.length === 0) return;
  const undone = [...kept].map(
    ([file, former]) =>
      `'${former}' is a former '${file}'. If an adoption was interrupted, put it back first: mv ${shellWord(former)} ${shellWord(file)}`,
  );
  const remedy =
    "Compare the configuration with 'tsigil tsigkey import FILE --pool POOL --dry-run', and import it with --update.";
  throw new CommandError(
    EXIT.refused,
    `The keys of '${name}' differ from those in the service, so nothing was changed`,
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
