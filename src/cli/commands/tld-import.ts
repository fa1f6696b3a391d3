import { InvalidArgumentError } from 'commander';
import type { Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { defineCommand } from '../flags/command.ts';
import { choice, defaulting, parsed, toggle } from '../flags/flag.ts';
import { createReport, quote, type Report } from '../output/import-report.ts';
import { startProgress } from '../output/progress.ts';
import { readText } from '../service/input.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';
import {
  assertOneRequest,
  entryBatches,
  sendEntries,
  type BulkFlags,
} from '../imports/tld-bulk.ts';
import { SECTIONS, WILDCARD_CHOICES } from '../../domain/tld-lists/public-suffix.ts';
import { detectFormat, LIST_FORMATS, readTldList } from '../../domain/tld-lists/read-list.ts';
import type { TldList } from '../../domain/tld-lists/list.ts';

const COUNTED = ['added', 'unchanged', 'updated', 'removed', 'refused'] as const;

interface Import {
  readonly connection: Connection;
  readonly list: TldList;
  readonly flags: { readonly dryRun?: true; readonly replace?: true; readonly allOrNothing?: true };
  readonly terminal: Terminal;
  confirm(question: string): Promise<void>;
}

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
    const work = { connection: await connect(), list, flags, terminal, confirm };
    await (flags.replace === true || flags.allOrNothing === true
      ? importTogether(work)
      : importEach(work));
  },
});

/** Imports the valid entries of a list in batches, and reports the invalid entries. */
async function importEach({ connection, list, flags, terminal }: Import): Promise<void> {
  const dryRun = flags.dryRun === true;
  const report = startReport(list);
  const { signal, release } = catchInterrupt(terminal);
  const progress = startProgress(
    terminal.err,
    dryRun ? 'Comparing' : 'Importing',
    list.entries.length,
    terminal.now,
  );
  let done = 0;
  try {
    for (const batch of entryBatches(list.entries)) {
      if (signal.aborted) break;
      await sendEntries(connection, batch, { dryRun }, report);
      done += batch.length;
      progress.advance(batch.length);
    }
  } finally {
    release();
    progress.stop();
    print(terminal, report, dryRun);
  }
  if (signal.aborted && done < list.entries.length) {
    throw new CommandError(
      EXIT.interrupted,
      `Stopped after ${done} of ${list.entries.length} entries`,
      'Run the same command again to continue.',
    );
  }
  const refused = report.count('refused');
  if (refused > 0) {
    throw new CommandError(
      EXIT.refused,
      `Refused: ${refused} of ${countOf(list)} entries; ${otherEntries(report, dryRun)}`,
      refusalHint(list, refused),
    );
  }
}

/** The minimum number of refused entries at which a hint says that the file is not a list. */
const MIN_REFUSED = 3;

/** Returns a hint if all entries of a list were refused, or undefined for other lists. */
function refusalHint(list: TldList, refused: number): string | undefined {
  return refused === countOf(list) && refused >= MIN_REFUSED
    ? 'This is not a list of top-level domains. Check the file, or set the format of the list with --format.'
    : undefined;
}

/** Returns a clause about the entries that were not refused. */
function otherEntries(report: Report, dryRun: boolean): string {
  if (report.count('added') + report.count('updated') === 0)
    return dryRun ? 'nothing would be changed' : 'nothing was changed';
  return dryRun ? 'the other entries would be imported' : 'the other entries were imported';
}

/**
 * Imports a list in one transaction. With `--replace`, shows the changes and asks for confirmation
 * first.
 */
async function importTogether(work: Import): Promise<void> {
  const { list, flags, terminal, confirm } = work;
  assertOneRequest(list.entries);
  const dryRun = flags.dryRun === true;
  if (dryRun || flags.replace !== true) {
    print(terminal, await applyTogether(work, dryRun), dryRun);
    return;
  }
  const planned = await applyTogether(work, true);
  terminal.out.write(planned.changes());
  if (planned.changes() !== '') await confirm(`${planned.summary(COUNTED)}. Continue?`);
  print(terminal, await applyTogether(work, false), false);
}

/**
 * Sends the single request of an import in one transaction. After Ctrl-C, waits for the response,
 * which states whether anything was changed. If this command or the service refuses lines, changes
 * nothing, prints these lines and throws `CommandError`.
 */
async function applyTogether(work: Import, dryRun: boolean): Promise<Report> {
  const { connection, list, flags, terminal } = work;
  const request: BulkFlags =
    list.refused.length > 0
      ? { dryRun: true, allOrNothing: true }
      : { dryRun, replace: flags.replace === true, allOrNothing: true };
  const report = startReport(list);
  const { signal, release } = catchInterrupt(terminal);
  signal.addEventListener(
    'abort',
    () =>
      void terminal.err.write(
        'Waiting for the request in progress. Press Ctrl-C again to quit without waiting.\n',
      ),
  );
  try {
    await sendEntries(connection, list.entries, request, report);
  } finally {
    release();
  }
  if (signal.aborted && dryRun)
    throw new CommandError(EXIT.interrupted, 'Stopped: nothing was changed');
  const refused = report.count('refused');
  if (refused === 0) return report;
  terminal.err.write(report.refusals());
  throw new CommandError(
    EXIT.refused,
    `Refused: ${refused} of ${countOf(list)} entries, so nothing was changed`,
    refusalHint(list, refused),
  );
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

function print({ out, err }: Terminal, report: Report, dryRun: boolean): void {
  if (dryRun) out.write(report.changes());
  err.write(report.refusals());
  out.write(`${dryRun ? 'Would be: ' : ''}${report.summary(COUNTED)}\n`);
}

function readDelimiter(text: string): string {
  if (text === '\\t') return '\t';
  if (text.length !== 1 || /["\r\n]/.test(text))
    throw new InvalidArgumentError(
      'It must be one character or \\t, and not a quotation mark or a line break.',
    );
  return text;
}
