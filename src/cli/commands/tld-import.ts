import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Connection } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { tld } from '../../domain/resources/tld.ts';
import { declareDestructive, type Confirm, type ConfirmationFlags } from '../output/confirmation.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { createReport, quote, type Report } from '../output/import-report.ts';
import { startProgress } from '../output/progress.ts';
import { readText } from '../service/input.ts';
import { copyFromSource, hasSource, withSourceFlags, type SourceFlags } from '../imports/source.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';
import { batchesOf, checkSize, sendEntries, type BulkFlags } from '../imports/tld-bulk.ts';
import { SECTIONS, WILDCARD_CHOICES } from '../tld-lists/public-suffix.ts';
import { detectFormat, LIST_FORMATS, readTldList, type ListFormat, type ListOptions } from '../tld-lists/read-list.ts';
import type { TldList } from '../tld-lists/list.ts';

type Flags = ConnectionFlags &
  ConfirmationFlags &
  SourceFlags &
  ListOptions & {
    readonly format?: ListFormat;
    readonly dryRun?: boolean;
    readonly replace?: boolean;
    readonly allOrNothing?: boolean;
  };

/** The counts that every import prints. */
const COUNTED = ['added', 'unchanged', 'updated', 'removed', 'refused'] as const;

/** What an import works with. */
interface Import {
  readonly connection: Connection;
  readonly list: TldList;
  readonly flags: Flags;
  readonly terminal: Terminal;
  readonly confirm: Confirm;
}

/** Adds `import` to the commands about top-level domains. */
export function addTldImport(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('import')
    .description("create top-level domains from a list: Designate's CSV, IANA's list, the Public Suffix List, or a name on each line")
    .argument('[file]', 'the list, or - for standard input')
    .addOption(new Option('--format <format>', 'the form of the list (default: as it looks)').choices(LIST_FORMATS))
    .addOption(new Option('--delimiter <character>', 'what stands between the fields of CSV').default(',').argParser(readDelimiter))
    .addOption(new Option('--section <section>', 'which part of the Public Suffix List').choices(SECTIONS).default('icann'))
    .addOption(
      new Option('--wildcards <choice>', 'what to make of a rule such as *.ck: ck, nothing, or a refusal')
        .choices(WILDCARD_CHOICES)
        .default('parent'),
    )
    .option('--dry-run', 'show what would be changed, and change nothing')
    .option('--all-or-nothing', 'change nothing if one line is refused')
    .option('--replace', 'make the list exactly this: show the difference, ask, and remove what is not in it');
  const confirm = declareDestructive(command, 'when --replace changes an entry');
  command.action(async (file: string | undefined, flags: Flags) => {
    if (hasSource(flags) !== (file === undefined)) throw new CommandError(EXIT.usage, 'Name one source: a file, - for standard input, or --from');
    if (file === undefined) return copyTlds(flags, terminal);
    const text = await readText(file, terminal);
    const format = flags.format ?? detectFormat(text, flags.delimiter);
    const list = readTldList(text, format, flags);
    const more = list.leftOut === 0 ? '' : `, ${list.leftOut} lines left out`;
    terminal.out.write(`Read as ${format}: ${countOf(list)} entries${more}\n`);
    if (countOf(list) === 0) throw new CommandError(EXIT.refused, `There are no entries in ${file}`);
    const work = { connection: await connect(flags, terminal), list, flags, terminal, confirm };
    await (flags.replace === true || flags.allOrNothing === true ? importTogether(work) : importEach(work));
  });
  addExamples(withConnectionFlags(withSourceFlags(command)), [
    'tsigil tld import tlds-alpha-by-domain.txt',
    'tsigil tld import public_suffix_list.dat --section icann --dry-run',
    { command: "tsigil tld import export.csv --delimiter ';' --replace", purpose: 'shows the difference and asks' },
    "printf 'com\\nco.uk\\n' | tsigil tld import -",
  ]);
}

/** Copies the entries of another service, which are whole and need none of the flags that say how to read a list. */
async function copyTlds(flags: Flags, terminal: Terminal): Promise<void> {
  if (flags.replace === true || flags.allOrNothing === true) {
    throw new CommandError(EXIT.usage, 'What is copied with ids and timestamps replaces nothing: leave out --replace and --all-or-nothing');
  }
  return copyFromSource(tld, flags, terminal);
}

/** Imports what is good of a list, some entries at a time, and tells of the rest. */
async function importEach({ connection, list, flags, terminal }: Import): Promise<void> {
  const dryRun = flags.dryRun === true;
  const report = startReport(list);
  const { signal, release } = catchInterrupt(terminal);
  const progress = startProgress(terminal.err, dryRun ? 'Comparing' : 'Importing', list.entries.length, terminal.now);
  let done = 0;
  try {
    for (const batch of batchesOf(list.entries)) {
      if (signal.aborted) break;
      await sendEntries(connection, batch, { mode: 'per-item', dryRun }, report);
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
      `Stopped: ${done} of ${list.entries.length} entries were dealt with`,
      'The same command goes on from there.',
    );
  }
  const refused = report.count('refused');
  if (refused > 0) {
    const verb = dryRun ? 'would be imported' : 'were imported';
    throw new CommandError(EXIT.refused, `Refused: ${refused} of ${countOf(list)} entries; the others ${verb}`);
  }
}

/** Imports a list as a whole; with `--replace` after showing the difference. */
async function importTogether(work: Import): Promise<void> {
  const { list, flags, terminal, confirm } = work;
  checkSize(list.entries);
  if (list.refused.length > 0) throw await refuseTogether(work);
  const dryRun = flags.dryRun === true;
  if (dryRun || flags.replace !== true) {
    print(terminal, await applyTogether(work, dryRun), dryRun);
    return;
  }
  const planned = await applyTogether(work, true);
  terminal.out.write(planned.changes());
  if (planned.changes() !== '') await confirm(`${planned.summary(COUNTED)}. Go on?`, flags, terminal);
  print(terminal, await applyTogether(work, false), false);
}

/** The one request of an import as a whole; Ctrl-C waits for its answer, because only that tells whether anything was changed. */
async function applyTogether(work: Import, dryRun: boolean): Promise<Report> {
  const { connection, list, flags, terminal } = work;
  const request: BulkFlags = { mode: 'transactional', replace: flags.replace === true, dryRun };
  const report = createReport();
  const { signal, release } = catchInterrupt(terminal);
  signal.addEventListener('abort', () => void terminal.err.write('Waiting for the answer to the request under way; Ctrl-C again does not.\n'));
  try {
    await sendEntries(connection, list.entries, request, report);
  } catch (error) {
    throw error instanceof CommandError && error.exitCode === EXIT.refused ? await refuseTogether(work, error) : error;
  } finally {
    release();
  }
  if (signal.aborted && dryRun) throw new CommandError(EXIT.interrupted, 'Stopped: nothing was changed');
  return report;
}

/** Finds and tells every line that is refused, here or by the service; returns the error to end with. */
async function refuseTogether({ connection, list, terminal }: Import, cause?: CommandError): Promise<CommandError> {
  const report = startReport(list);
  for (const batch of batchesOf(list.entries)) await sendEntries(connection, batch, { mode: 'per-item', dryRun: true }, report);
  const refused = report.count('refused');
  if (refused === 0 && cause !== undefined) return cause;
  terminal.err.write(report.refusals());
  return new CommandError(EXIT.refused, `Refused: ${refused} of ${countOf(list)} entries, so nothing was changed`);
}

function countOf({ entries, refused }: TldList): number {
  return entries.length + refused.length;
}

/** Creates a report with the lines of the list that cannot be imported. */
function startReport({ refused }: TldList): Report {
  const report = createReport();
  for (const { line, text, reason } of refused) report.add('refused', `${quote(text)}: ${reason}`, line);
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
    throw new InvalidArgumentError('It must be one character, or \\t; not a quotation mark or line break.');
  return text;
}
