import { testPorts } from '../../dns/test-ports.ts';
import type { Check, CheckResult, Verdict } from '../../dns/key-check.ts';
import { keyProblems } from '../../formats/key.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { parsed, text, toggle, type ValuesOf } from '../../cli/flags/flag.ts';
import { diagnoseKey } from '../../net/probe.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import { counted } from '../../core/text/counted.ts';
import { assertOneSelection, selectKeys } from './key-requests.ts';
import { collectServer, readZone } from './server-flags.ts';
import { printList, type OutputFlags } from '../../cli/output/output.ts';
import { coloured, marked, textStyleOf, type Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { findTargets, type Target } from './verify-targets.ts';

const CONCURRENCY = 8;

const NO_ZONE = 'the service has no zone in which to test the key';
const SET_ZONE = 'Set --zone.';

interface Row {
  readonly name: string;
  readonly server: string;
  readonly zone: string | null;
  readonly check: Check;
  readonly verdict: Verdict | 'invalid key';
  readonly reason: string;
  readonly hint: string | null;
}

const COLUMNS = ['name', 'server', 'zone', 'check', 'verdict', 'reason', 'hint'] as const;
const SHORT_COLUMNS = ['name', 'server', 'check', 'verdict', 'reason'] as const;

const FLAGS = {
  all: toggle('verify all keys', { conflicts: ['tsigkey', 'pool'] }),
  pool: text('<pool>', 'verify the keys that apply to this pool (name or id)', {
    conflicts: ['tsigkey', 'all'],
  }),
  server: parsed(
    '<host[:port]>',
    'verify against this server, such as 192.0.2.1 or [2001:db8::1]:5300; repeat for more servers (default: the name servers that should have the key)',
    collectServer,
  ),
  zone: parsed(
    '<zone>',
    'send requests for this zone (default: the zone of the key, a zone of its grants, the probe zone of the server, or a zone of the pool)',
    readZone,
  ),
  transfer: toggle('request a transfer of the whole zone instead of sending a query', {
    conflicts: ['update'],
  }),
  update: toggle('request an update that changes nothing instead of sending a query', {
    conflicts: ['transfer'],
  }),
  long: toggle('with --all or --pool, also list the checks that found no fault'),
};

type VerifyFlags = OutputFlags & ValuesOf<typeof FLAGS>;

export const keyVerify = defineCommand({
  name: 'verify',
  description:
    'send name servers requests signed with keys, and report whether the servers accept the keys',
  argument: ['[tsigkey...]', 'ids or names of the tsigkeys'],
  flags: FLAGS,
  columns: COLUMNS,
  examples: [
    'tsigil tsigkey verify transfer-key --server ns1.example.org --zone example.org',
    "tsigil tsigkey verify transfer-key --server '[2001:db8::1]:5300' --zone example.org --transfer  # also check whether the key may transfer the zone",
    'tsigil tsigkey verify --pool default --server ns1.example.org --server ns2.example.org --zone example.org -f json  # verify each key of a pool against each server',
    'tsigil tsigkey verify --all  # verify all keys against the name servers that should have them, and list only the failures',
  ],
  async run({ argument: idsOrNames, connect, flags, terminal }) {
    assertOneSelection(idsOrNames, flags);
    const connection = await connect();
    const keys = await selectKeys(connection, idsOrNames, flags, 'verified');
    const targets = await findTargets(connection, keys, flags.server, flags.zone);
    if (targets.length === 0)
      throw new CommandError(
        EXIT.refused,
        'Nothing was verified: the service has no name server for these keys',
        'Set --server, or create the name servers of the pool with: tsigil nameserver create',
      );
    const verified = new Set(targets.map(({ key }) => key));
    const others = keys.filter((key) => !verified.has(key)).map(({ name }) => name);
    if (others.length > 0)
      writeLine(
        terminal.err,
        `Not verified, because the service has no name server for these keys: ${others.join(', ')}`,
      );
    const rows = await verifyAll(targets, checkOf(flags), terminal.now);
    report(rows, flags, idsOrNames.length > 0, terminal);
  },
});

function verifyAll(targets: readonly Target[], check: Check, now: () => number): Promise<Row[]> {
  return mapConcurrently(targets, CONCURRENCY, async (target) => {
    const { key, server, zone = null } = target;
    const { verdict, reason, hint = null } = await rowResult(target, check, now);
    return { name: key.name, server: server.text, zone, check, verdict, reason, hint };
  });
}

/**
 * Prints a row for each check, or with `isNamed` false and without `--long`, a table of the checks
 * that failed; a table ends with the number of good checks. Throws `CommandError` if a check failed,
 * with the remedies that a table lacks.
 */
function report(
  rows: readonly Row[],
  flags: VerifyFlags,
  isNamed: boolean,
  terminal: Terminal,
): void {
  const failed = rows.filter(({ verdict }) => verdict !== 'good');
  const isTable = flags.format === undefined || flags.format === 'table';
  const style = textStyleOf(terminal.out, terminal.environment);
  const listed = !isTable || isNamed || flags.long === true ? rows : failed;
  const shown = listed.map((row) =>
    isTable
      ? { ...row, verdict: marked(row.verdict, row.verdict === 'good' ? 'good' : 'bad', style) }
      : { ...row },
  );
  if (!isTable || shown.length > 0)
    printList(terminal, shown, isTable ? SHORT_COLUMNS : COLUMNS, flags);
  if (isTable && failed.length < rows.length) {
    const [keys = 0, servers = 0] = (['name', 'server'] as const).map(
      (column) => new Set(rows.map((row) => row[column])).size,
    );
    const scope = servers === 1 ? '' : `${counted(keys, 'key')} on ${servers} servers: `;
    const line = marked(`${scope}${rows.length - failed.length} good`, 'good', style);
    terminal.out.write(`${coloured(line, line, style)}\n`);
  }
  if (failed.length === 0) return;
  const hints = new Set(failed.flatMap(({ hint }) => (hint === null ? [] : [hint])));
  throw new CommandError(
    rows.every(({ verdict }) => verdict === 'no response') ? EXIT.unreachable : EXIT.refused,
    `${failed.length} of ${rows.length} checks failed`,
    isTable && hints.size > 0 ? [...hints].join('\n') : undefined,
  );
}

async function rowResult(
  { key, server, zone }: Target,
  check: Check,
  now: () => number,
): Promise<Omit<CheckResult, 'verdict'> & Pick<Row, 'verdict'>> {
  const problems = keyProblems(key);
  if (problems.length > 0) return { verdict: 'invalid key', reason: problems.join('; ') };
  if (zone === undefined) return { verdict: 'not possible', reason: NO_ZONE, hint: SET_ZONE };
  return diagnoseKey(key, check, { server, zone, ports: testPorts(key, now()) }, now);
}

function checkOf({ transfer, update }: VerifyFlags): Check {
  if (transfer === true) return 'transfer';
  return update === true ? 'update' : 'query';
}
