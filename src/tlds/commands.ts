import { BULK_RESPONSE, MAX_ENTRIES, type BulkResponse } from './bulk-request.ts';
import { MAX_LIST_BYTES } from '../core/settings.ts';
import { refusedEntries, type ListEntry, type TldList } from './list.ts';
import { SECTIONS, WILDCARD_CHOICES } from './public-suffix.ts';
import { detectFormat, LIST_FORMATS, readTldList } from './read-list.ts';
import { defineCommand } from '../cli/flags/command.ts';
import { choice, defaulting, InvalidArgumentError, parsed, toggle } from '../cli/flags/flag.ts';
import { CommandError, EXIT } from '../cli/output/command-error.ts';
import { createReport, quote, type Report } from '../cli/output/import-report.ts';
import type { Terminal } from '../cli/output/terminal.ts';
import { callFor, type Connection } from '../cli/service/client.ts';
import { readText } from '../cli/service/input.ts';

const COUNTED = ['added', 'unchanged', 'updated', 'removed', 'refused'] as const;

export const tldImport = defineCommand({
  name: 'import',
  description:
    "create top-level domains from a list: Designate's CSV, the output of a client, IANA's list, the Public Suffix List, or one name per line",
  argument: ['<file>', 'file to read, or - for standard input'],
  flags: {
    format: choice('<format>', LIST_FORMATS, 'read the list in this format (default: detected)'),
    delimiter: defaulting(
      parsed('<character>', 'split CSV lines at this character', readDelimiter),
      ',',
    ),
    section: defaulting(
      choice('<section>', SECTIONS, 'import this part of the Public Suffix List'),
      'icann',
    ),
    wildcards: defaulting(
      choice(
        '<choice>',
        WILDCARD_CHOICES,
        'import a rule such as *.ck as its parent ck, skip the rule, or refuse the rule',
      ),
      'parent',
    ),
    dryRun: toggle('show the changes without making them'),
    allOrNothing: toggle('change nothing if a line is refused'),
    replace: toggle(
      'replace all entries with this list; show the changes and ask for confirmation first',
    ),
  },
  asks: 'when --replace changes an entry',
  examples: [
    'tsigil tld import tlds-alpha-by-domain.txt',
    'tsigil tld import public_suffix_list.dat --section icann --dry-run',
    'openstack tld list -f csv | tsigil tld import -',
    "tsigil tld import export.csv --delimiter ';' --replace  # show the changes and ask for confirmation",
    "printf 'com\\nco.uk\\n' | tsigil tld import -",
  ],
  async run({ argument: file, confirm, connect, flags, terminal }) {
    const listed = await readText(file, terminal);
    const format = flags.format ?? detectFormat(listed, flags.delimiter);
    const list = readTldList(listed, format, flags);
    const more = list.leftOut === 0 ? '' : `, ${list.leftOut} lines skipped`;
    const header = list.hasHeader === true ? ' with a header' : '';
    terminal.out.write(`Read as ${format}${header}: ${countOf(list)} entries${more}\n`);
    if (countOf(list) === 0) throw new CommandError(EXIT.refused, `'${file}' contains no entries`);
    assertOneRequest(list.entries);
    const connection = await connect();
    const { dryRun = false, replace = false } = flags;
    const isWhole = replace || flags.allOrNothing === true;
    const send = async (isDry: boolean) => {
      const report = startReport(list);
      // The service then finds what else it would refuse.
      const isRefused = isWhole && list.refused.length > 0;
      const request = { isWhole, dryRun: isDry || isRefused, replace: replace && !isRefused };
      await sendEntries(connection, list.entries, request, report);
      if (isWhole) assertNoneRefused(list, report, ', so nothing was changed', terminal);
      return report;
    };
    if (replace && !dryRun) {
      const planned = await send(true);
      terminal.out.write(planned.changes());
      if (planned.changes() !== '') await confirm(`${planned.summary(COUNTED)}. Continue?`);
    }
    const report = await send(dryRun);
    if (dryRun) terminal.out.write(report.changes());
    terminal.out.write(`${dryRun ? 'Would be: ' : ''}${report.summary(COUNTED)}\n`);
    assertNoneRefused(list, report, otherEntries(report, dryRun), terminal);
  },
});

/** The maximum size of what a request has besides its entries. */
const MARGIN_BYTES = 1000;

function assertOneRequest(entries: readonly ListEntry[]): void {
  const bytes = Buffer.byteLength(JSON.stringify(entries.map(bodyOf))) + MARGIN_BYTES;
  if (entries.length <= MAX_ENTRIES && bytes <= MAX_LIST_BYTES) return;
  throw new CommandError(
    EXIT.refused,
    `The list is too large: ${entries.length} entries, ${bytes} bytes. The limit is ${MAX_ENTRIES} entries, ${MAX_LIST_BYTES} bytes.`,
    'Import the list in parts.',
  );
}

interface Bulk {
  /** Whether nothing changes if an entry is refused. */
  readonly isWhole: boolean;
  readonly dryRun: boolean;
  readonly replace: boolean;
}

/**
 * Sends entries to the service, which imports them in one transaction, and adds each outcome to
 * `report`. The service refuses a list with an invalid entry, so the request is repeated without the
 * refused entries; with `isWhole` as a dry run, which finds refused entries that did not fit in the
 * first error. Throws `CommandError`.
 */
async function sendEntries(
  connection: Connection,
  entries: readonly ListEntry[],
  { isWhole, ...flags }: Bulk,
  report: Report,
): Promise<void> {
  let { dryRun, replace } = flags;
  let rest = entries;
  while (rest.length > 0) {
    try {
      const body = { replace, dry_run: dryRun, tlds: rest.map(bodyOf) };
      const path = '/v2/tlds/bulk';
      addOutcomes(rest, await callFor(BULK_RESPONSE.kind, connection, 'POST', path, body), report);
      return;
    } catch (error) {
      const refused = refusedEntries(rest, error instanceof CommandError ? error.problems : []);
      if (refused.size === 0) throw error;
      for (const [{ name, line }, messages] of refused)
        report.add('refused', `${quote(name)}: ${messages.join('; ')}`, line);
      rest = rest.filter((entry) => !refused.has(entry));
      if (isWhole) [dryRun, replace] = [true, false];
    }
  }
}

function addOutcomes(
  entries: readonly ListEntry[],
  { results, removed }: BulkResponse,
  report: Report,
): void {
  for (const { index, outcome, name, previous } of results) {
    const change = `${quote(previous?.description)} -> ${quote(entries[index]?.description)}`;
    report.add(outcome, outcome === 'updated' ? `${name}: ${change}` : name);
  }
  for (const { name } of removed) report.add('removed', name);
}

function bodyOf({ name, description }: ListEntry): object {
  return { name, description };
}

/** The minimum number of refused entries at which a hint says that the file is not a list. */
const MIN_REFUSED = 3;

/** Prints the refused entries, and throws `CommandError` if there are any. */
function assertNoneRefused(
  list: TldList,
  report: Report,
  outcome: string,
  { err }: Terminal,
): void {
  const refused = report.count('refused');
  if (refused === 0) return;
  err.write(report.refusals());
  throw new CommandError(
    EXIT.refused,
    `Refused: ${refused} of ${countOf(list)} entries${outcome}`,
    refused === countOf(list) && refused >= MIN_REFUSED
      ? 'This is not a list of top-level domains. Check the file, or set the format of the list with --format.'
      : undefined,
  );
}

function otherEntries(report: Report, dryRun: boolean): string {
  if (report.count('added') + report.count('updated') === 0)
    return dryRun ? '; nothing would be changed' : '; nothing was changed';
  return dryRun ? '; the other entries would be imported' : '; the other entries were imported';
}

function countOf({ entries, refused }: TldList): number {
  return entries.length + refused.length;
}

function startReport({ refused }: TldList): Report {
  const report = createReport();
  for (const { line, text, reason } of refused)
    report.add('refused', `${quote(text)}: ${reason}`, line);
  return report;
}

function readDelimiter(text: string): string {
  if (text === '\\t') return '\t';
  if (text.length !== 1 || /["\r\n]/.test(text))
    throw new InvalidArgumentError(
      'It must be one character or \\t, and not a quotation mark or a line break.',
    );
  return text;
}
