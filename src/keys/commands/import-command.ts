import { saysUses, type Finding } from '../../access/access.ts';
import type { RightChange } from '../../access/changes.ts';
import { zonesText } from '../../access/warnings.ts';
import { isOwnKey } from '../../formats/own-keys.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { nameServer } from '../../resources/name-server.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { call, type Connection } from '../../cli/service/client.ts';
import { findPath, listItems, withHints } from '../../cli/service/resource-requests.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { choice, configFile, text, texts, toggle, type ValuesOf } from '../../cli/flags/flag.ts';
import { readReferences, referenceOptions } from '../../cli/flags/references.ts';
import { conclude, createReport, type Report } from '../../cli/output/import-report.ts';
import { printList } from '../../cli/output/output.ts';
import { formatJson } from '../../cli/output/plain-text.ts';
import { accessFindings, planAccess, reportKept, type AccessPlan } from './access-import.ts';
import {
  FILE_FORMATS,
  readKeyFile,
  readRunningServer,
  type KeySource,
  type ServerReader,
} from './key-file.ts';
import {
  describeReach,
  importFindings,
  performImport,
  planImport,
  withScope,
  zonesOf,
  type Step,
} from './import-plan.ts';
import { readPowerdns } from './powerdns.ts';
import { catchInterrupt, type Terminal } from '../../cli/output/terminal.ts';

const FLAGS = {
  format: choice(
    '<format>',
    Object.keys(FILE_FORMATS),
    'read the file in this format (default: detected)',
  ),
  update: toggle('replace the algorithm and secret of existing keys'),
  dryRun: toggle('show the changes without making them'),
  widen: texts(
    '<key>',
    'also let this key do everywhere what it may do only for some requests today; repeat the flag for more keys',
  ),
  createZones: toggle('create the zones in which the keys have rights'),
  outputFormat: choice('<format>', ['json'], 'print keys, rights and warnings in this format', {
    short: '-f',
  }),
  fromPowerdns: text(
    '<url>',
    'import from the PowerDNS API at this URL; set the API key in PDNS_API_KEY',
  ),
  fromNameserver: text(
    '<name>',
    'with --dry-run, show the keys that this name server of this machine has, and what they may do',
  ),
  config: configFile(
    'with --from-nameserver, read this configuration file of the service or of the agent',
  ),
};

interface ImportFlags extends ValuesOf<typeof FLAGS> {
  readonly pool?: string;
  readonly zone?: string;
}

export const keyImport = (load: () => Promise<ServerReader>) =>
  defineCommand({
    name: 'import',
    description:
      'import keys from a file of a name server or tool, from the output of a client, or from PowerDNS',
    argument: ['[file]', 'file to read, or - for standard input'],
    flags: FLAGS,
    options: referenceOptions(tsigkey, 'apply new keys to'),
    asks: 'before new keys open every zone of a pool',
    examples: [
      'tsigil tsigkey import /etc/bind/keys.conf --pool default --dry-run',
      'tsigil tsigkey import --dry-run --from-nameserver ns1',
      'tsigil tsigkey import --dry-run --from-nameserver ns2 --config /etc/tsigil-agent/agent.yaml  # show what the keys of a name server with an agent may do',
      'tsig-keygen new-key | tsigil tsigkey import - --zone example.org.',
      'openstack tsigkey list -f json | tsigil tsigkey import - --yes  # import the keys of Designate, each for its pool or zone',
    ],
    async run({ argument: file, confirm, connect, flags, terminal }) {
      const { fromNameserver, fromPowerdns = '', pool, zone }: ImportFlags = flags;
      const hasTarget = (pool ?? zone) !== undefined;
      assertOneSource(file, flags);
      if (fromNameserver === undefined) {
        const source = await (file === undefined
          ? readFromPowerdns(fromPowerdns, terminal)
          : readKeyFile(file, flags.format, terminal));
        if (source.statesScopes !== true && !hasTarget)
          throw new CommandError(
            EXIT.usage,
            'The scope of the keys is missing: the source does not contain scopes',
            'Add --pool or --zone.',
          );
        await importKeys(source, flags, { connection: await connect(), terminal, confirm });
        return;
      }
      if (flags.dryRun !== true)
        throw new CommandError(
          EXIT.usage,
          'Cannot use --from-nameserver without --dry-run',
          'Add --dry-run, or import the configuration file of the name server.',
        );
      const connection = await connect();
      const zones = async () =>
        (await zonesOf(connection)).map(({ name }) => comparisonForm(String(name)));
      const { readNameServer } = await load();
      const printed = await readNameServer(flags.config, fromNameserver, zones);
      const target = hasTarget
        ? flags
        : { ...flags, pool: await poolOf(connection, fromNameserver) };
      await importKeys(await readRunningServer(printed), target, { connection, terminal, confirm });
    },
  });

interface ImportTools {
  readonly connection: Connection;
  readonly terminal: Terminal;
  confirm(question: string): Promise<void>;
}

const NO_GRANTS =
  'no client lists the grants of keys, so each new key has every right in its pool or zone';

async function importKeys(
  source: KeySource,
  flags: ImportFlags,
  { connection, terminal, confirm }: ImportTools,
): Promise<void> {
  const { unread } = source;
  const configuration = source.configuration && {
    ...source.configuration,
    keys: source.configuration.keys.filter(({ key }) => !isOwnKey(comparisonForm(key.name))),
  };
  const { update = false, dryRun = false, widen = [], createZones = false } = flags;
  const isJson = flags.outputFormat === 'json';
  const report = createReport(isJson ? undefined : (line) => terminal.out.write(line));
  const references = await readReferences(tsigkey, { ...flags }, connection);
  const { scope = '', resource_id: resourceId = '' } = references;
  const wanted = { scope, resourceId, update };
  const keys = scope === '' ? source.keys : withScope(source.keys, scope);
  const access =
    configuration !== undefined && saysUses(configuration)
      ? await planAccess(connection, configuration, wanted, { widen, createZones })
      : undefined;
  if (access === undefined && (widen.length > 0 || createZones))
    throw new CommandError(
      EXIT.usage,
      'Cannot use --widen or --create-zones: the source does not say where its keys are used',
      'Omit both flags, or import the main configuration file of the name server.',
    );
  for (const { place, problem } of unread) report.add('not read', problem, place);
  const existing = await listItems(connection, tsigkey, []);
  const steps = await planImport(connection, keys, existing, wanted, access);
  const findings = [
    ...importFindings(keys, configuration, existing),
    ...(access === undefined ? [] : accessFindings(access)),
  ];
  const all = [...(access?.zoneSteps ?? []), ...steps];
  const opened = access === undefined ? namesByPool(steps) : new Map<string, string[]>();
  for (const [pool, names] of opened)
    terminal.err.write(`${await describeReach(connection, pool, names)}\n`);
  if (opened.size > 0 && !dryRun) await confirm('Continue?');
  const { signal, release } = catchInterrupt(terminal);
  const { processed, refused } = await performImport(all, dryRun, report, signal).finally(release);
  if (processed < all.length) {
    const summary = processed === 0 ? '' : `: ${report.summary()}`;
    const noun = all.length === steps.length ? 'keys' : 'zones and keys';
    throw new CommandError(
      EXIT.interrupted,
      `Stopped after ${processed} of ${all.length} ${noun}${summary}`,
    );
  }
  if (access !== undefined) reportKept(report, access);
  if (source.statesScopes === true && steps.some(({ outcome }) => outcome === 'added'))
    report.add('warning', NO_GRANTS, 'keys');
  for (const { place, text } of findings)
    report.add('warning', text, place === '' ? 'zones' : place);
  const changes = steps.flatMap((step) => {
    const { key, outcome, former } = step;
    const isKept = outcome === 'different' || refused.has(step);
    // The rights of a key of another pool or zone are unknown here.
    if (key === undefined || (isKept && former === undefined)) return [];
    return access?.changesOf(key, isKept ? former : undefined) ?? [];
  });
  if (isJson) terminal.out.write(formatJson(planJson(report, access, changes, findings)));
  else if (dryRun && changes.length > 0) printChanges(changes, terminal);
  conclude(report, dryRun, isJson ? { ...terminal, out: terminal.err } : terminal);
}

function namesByPool(steps: readonly Step[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { poolId, text } of steps)
    if (poolId !== undefined) names.set(poolId, [...(names.get(poolId) ?? []), text]);
  return names;
}

function printChanges(changes: readonly RightChange[], terminal: Terminal): void {
  const rows = changes.map(({ key, right, before, limited, after }) => ({
    key,
    right,
    before:
      [zonesText(before), limited.length === 0 ? '' : `limited: ${zonesText(limited)}`]
        .filter((text) => text !== '')
        .join('; ') || 'none',
    after: after.length === 0 ? 'none' : zonesText(after),
  }));
  printList(terminal, rows, ['key', 'right', 'before', 'after'], {});
}

function planJson(
  report: Report,
  access: AccessPlan | undefined,
  changes: readonly RightChange[],
  findings: readonly Finding[],
) {
  return {
    items: report.items(),
    rights: changes,
    left_in_configuration: access?.kept ?? [],
    missing_zones: access?.missing ?? [],
    open: access?.matrix.open ?? [],
    warnings: findings,
    unread: access?.configuration.unread ?? [],
  };
}

/** Returns the id of the pool of a name server. Throws `CommandError`. */
async function poolOf(connection: Connection, name: string): Promise<string> {
  const server = await withHints(nameServer, async () =>
    call(connection, 'GET', await findPath(connection, nameServer, name)),
  );
  return String(server.pool_id);
}

function assertOneSource(file: string | undefined, flags: ImportFlags): void {
  const sources = [
    file !== undefined,
    flags.fromPowerdns !== undefined,
    flags.fromNameserver !== undefined,
  ].filter(Boolean);
  if (sources.length !== 1)
    throw new CommandError(
      EXIT.usage,
      'Set exactly one source: a file, - (standard input), --from-powerdns or --from-nameserver',
    );
  if (flags.format !== undefined && file === undefined)
    throw new CommandError(EXIT.usage, 'Cannot use --format without a file. Omit --format.');
}

async function readFromPowerdns(url: string, { environment }: Terminal): Promise<KeySource> {
  const apiKey = environment.PDNS_API_KEY ?? '';
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new CommandError(
      EXIT.usage,
      'PDNS_API_KEY does not contain a valid API key',
      'Set PDNS_API_KEY to the value of api-key in the configuration of PowerDNS.',
    );
  if (!/^https?:\/\/[^/@?#]+\/*$/.test(url)) {
    throw new CommandError(
      EXIT.usage,
      'Invalid URL in --from-powerdns. Use an http or https URL without a path, such as http://127.0.0.1:8081.',
    );
  }
  return readPowerdns(url.replace(/\/+$/, ''), apiKey);
}
