import { Command } from 'commander';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { RESOURCE_COMMANDS } from '../flags/resource-table.ts';
import { plainText } from '../output/plain-text.ts';
import { listItems, withoutSecrets } from '../service/resource-requests.ts';
import type { Terminal } from '../output/terminal.ts';

/** The time limit of the request. The limit is short, because the shell waits for the names. */
const TIMEOUT_SECONDS = 2;
/** The maximum number of names that a shell offers. */
const MAX_NAMES = 200;

interface NameFlags {
  readonly prefix?: string;
  readonly line?: string;
}

/**
 * Adds the hidden command that prints names of resources, one per line. Completion scripts run this
 * command. If it cannot read the names, it prints nothing, because a message would disturb the
 * command line.
 */
export function addNameList(program: Command, terminal: Terminal): void {
  program
    .command('names', { hidden: true })
    .argument('<noun>')
    .option('--prefix <text>')
    .option('--line <text>')
    .action(async (noun: string, flags: NameFlags) => {
      const names = await readNames(noun, flags, terminal).catch(() => []);
      terminal.out.write(names.map((name) => `${name}\n`).join(''));
    });
}

async function readNames(
  noun: string,
  { prefix = '', line = '' }: NameFlags,
  terminal: Terminal,
): Promise<string[]> {
  const type = RESOURCE_COMMANDS.find((each) => each.type.noun === noun)?.type;
  const field = type?.unique?.field;
  if (type === undefined || field === undefined) return [];
  const connection = await connect(connectionFlags(line), terminal);
  const filter = prefix === '' ? [] : [[field, `${prefix}*`] as const];
  const parameters = [...filter, ['sort_key', field] as const];
  const items = await listItems(
    { ...withoutSecrets(connection), timeoutSeconds: TIMEOUT_SECONDS },
    type,
    parameters,
    MAX_NAMES,
  );
  // Omits names with line breaks, because a shell reads one name per line.
  return items.map((item) => String(item[field])).filter((name) => plainText(name) === name);
}

/** Returns the connection flags in an incomplete command line. */
function connectionFlags(line: string): Record<string, string> {
  const flags = withConnectionFlags(new Command()).options.flatMap((option) => {
    const [, value] =
      new RegExp(`\\s${option.long}[\\s=]+(['"]?)([^\\s'"]+)\\1\\s`).exec(`${line} `)?.slice(1) ??
      [];
    return value === undefined ? [] : [[option.attributeName(), value] as const];
  });
  return Object.fromEntries(flags);
}
