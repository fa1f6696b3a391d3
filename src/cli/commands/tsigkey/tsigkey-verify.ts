import { Option, type Command } from 'commander';
import type { Check, Verdict } from '../../../domain/dns/key-check.ts';
import { keyProblems, type Key } from '../../../domain/key-formats/key.ts';
import type { NameServer } from '../../../net/dns.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { CommandError, EXIT } from '../../output/errors.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { checkKey } from '../../service/key-check.ts';
import { mapConcurrently } from '../../service/concurrency.ts';
import { getKeys, listKeys } from '../../service/key-requests.ts';
import { collectServer, readZone, type Server } from '../../flags/name-servers.ts';
import { plainText } from '../../output/plain-text.ts';
import { formatList, type OutputFlags } from '../../output/output.ts';
import { textStyleOf, type Terminal } from '../../output/terminal.ts';

/** The maximum number of checks at the same time. */
const CONCURRENCY = 8;

interface VerifyFlags extends ConnectionFlags, OutputFlags {
  readonly all?: boolean;
  readonly pool?: string;
  readonly server: readonly Server[];
  readonly zone: string;
  readonly transfer?: boolean;
  readonly update?: boolean;
}

/** The result of one check of several. */
interface Row {
  readonly name: string;
  readonly server: string;
  readonly zone: string;
  readonly check: Check;
  readonly verdict: Verdict | 'invalid key';
  readonly reason: string;
  readonly hint: string | null;
}

const COLUMNS = ['name', 'server', 'zone', 'check', 'verdict', 'reason', 'hint'] as const;
/** The columns of a table. */
const SHORT_COLUMNS = ['name', 'server', 'check', 'verdict', 'reason'] as const;

/** Adds the command that checks whether name servers accept keys. */
export function addVerify(tsigkey: Command, terminal: Terminal): void {
  const command = tsigkey
    .command('verify')
    .description(
      'send name servers requests signed with keys, and report whether the servers accept the keys',
    )
    .argument('[tsigkey...]', 'ids or names of the tsigkeys')
    .addOption(new Option('--all', 'verify all keys').conflicts(['tsigkey', 'pool']))
    .addOption(
      new Option(
        '--pool <pool>',
        'verify the keys for every zone of this pool, by its name or id',
      ).conflicts(['tsigkey', 'all']),
    )
    .addOption(
      new Option(
        '--server <host[:port]>',
        'send the requests to this name server; put an IPv6 address with a port in brackets; repeat the flag for more servers',
      )
        .argParser(collectServer)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--zone <zone>', 'send requests about this zone')
        .argParser(readZone)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--transfer',
        'request a transfer of the whole zone instead of sending a query',
      ).conflicts('update'),
    )
    .addOption(
      new Option(
        '--update',
        'request an update that changes nothing instead of sending a query',
      ).conflicts('transfer'),
    )
    .action(async (idsOrNames: string[], flags: VerifyFlags) => {
      assertOneSelection(idsOrNames, flags);
      checkColumns(flags, COLUMNS);
      const connection = await connect(flags, terminal);
      const keys =
        idsOrNames.length > 0
          ? await getKeys(connection, idsOrNames)
          : await listKeys(connection, flags.pool);
      const isSingle = idsOrNames.length === 1 && flags.server.length === 1;
      const [key] = keys;
      const [server] = flags.server;
      if (isSingle && !flags.format && !flags.column && key !== undefined && server !== undefined)
        await verifyOne(key, server, flags, terminal);
      else await verifyAll(keys, flags, terminal);
    });
  addExamples(withConnectionFlags(withOutputFlags(command)), [
    'tsigil tsigkey verify transfer-key --server ns1.example.org --zone example.org',
    {
      command:
        "tsigil tsigkey verify transfer-key --server '[2001:db8::1]:5300' --zone example.org --transfer",
      purpose: 'also checks whether the key may transfer the zone',
    },
    {
      command:
        'tsigil tsigkey verify --pool default --server ns1.example.org --server ns2.example.org --zone example.org -f json',
      purpose: 'verifies each key of a pool against each server',
    },
  ]);
}

/** Throws `CommandError` unless the keys are selected in exactly one way. */
function assertOneSelection(idsOrNames: readonly string[], { all, pool }: VerifyFlags): void {
  const ways = [idsOrNames.length > 0, pool !== undefined, all === true].filter(Boolean);
  if (ways.length !== 1)
    throw new CommandError(
      EXIT.usage,
      'Select the keys in exactly one way: ids or names, --pool or --all',
    );
}

/** Verifies one key against one server. Throws `CommandError` unless the server accepts it. */
async function verifyOne(
  key: Key,
  server: NameServer,
  flags: VerifyFlags,
  terminal: Terminal,
): Promise<void> {
  const problems = keyProblems(key);
  if (problems.length > 0)
    throw new CommandError(EXIT.refused, `No name server can use the key: ${problems.join('; ')}`);
  const { verdict, reason, hint } = await checkKey(
    { key, server, zone: flags.zone, check: checkOf(flags) },
    terminal.now,
  );
  const text = plainText(`${verdict}: ${reason}`);
  if (verdict !== 'good')
    throw new CommandError(verdict === 'no response' ? EXIT.unreachable : EXIT.refused, text, hint);
  terminal.out.write(`${text}\n`);
}

/**
 * Verifies each key against each server, and prints a row for each. Throws `CommandError` unless
 * all are good.
 */
async function verifyAll(
  keys: readonly Key[],
  flags: VerifyFlags,
  terminal: Terminal,
): Promise<void> {
  const { server: servers, zone } = flags;
  if (keys.length === 0)
    throw new CommandError(
      EXIT.refused,
      flags.pool === undefined
        ? 'Nothing was verified: there are no keys'
        : `Nothing was verified: no key applies to every zone of the pool '${flags.pool}'`,
      "Run 'tsigil tsigkey list' to list all tsigkeys.",
    );
  const check = checkOf(flags);
  const pairs = keys.flatMap((key) => servers.map((server) => ({ key, server, zone, check })));
  const rows = await mapConcurrently(pairs, CONCURRENCY, async (pair): Promise<Row> => {
    const { key, server } = pair;
    const problems = keyProblems(key);
    const { verdict, reason, hint } =
      problems.length > 0
        ? { verdict: 'invalid key' as const, reason: problems.join('; '), hint: undefined }
        : await checkKey(pair, terminal.now);
    return {
      name: key.name,
      server: server.text,
      zone,
      check,
      verdict,
      reason,
      hint: hint ?? null,
    };
  });
  const { out, environment } = terminal;
  const isTable = flags.format === undefined || flags.format === 'table';
  const columns = isTable ? SHORT_COLUMNS : COLUMNS;
  out.write(
    formatList(
      rows.map((row) => ({ ...row })),
      columns,
      flags,
      textStyleOf(out, environment),
    ),
  );
  const failed = rows.filter(({ verdict }) => verdict !== 'good').length;
  if (failed > 0) throw new CommandError(EXIT.refused, `${failed} of ${rows.length} checks failed`);
}

function checkOf({ transfer, update }: VerifyFlags): Check {
  return transfer === true ? 'transfer' : update === true ? 'update' : 'query';
}
