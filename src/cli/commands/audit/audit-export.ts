import { Option, type Command } from 'commander';
import { AUDIT_FORMATS } from '../../../domain/audit-formats/formats.ts';
import { MAX_LIMIT } from '../../../domain/model/settings.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { createFile } from '../../output/save-file.ts';
import type { Terminal } from '../../output/terminal.ts';
import type { Connection } from '../../service/client.ts';
import { recordParameters, withRecordFlags, type RecordFlags } from './audit-flags.ts';
import { getRecords, type Parameters } from './audit-requests.ts';

interface ExportFlags {
  readonly format: string;
  readonly output?: string;
  readonly overwrite?: boolean;
}

const DESCRIPTIONS = Object.entries(AUDIT_FORMATS)
  .map(([name, { description }]) => `${name}: ${description}`)
  .join('; ');

/** Adds the command that writes all records in a format for other programs. */
export function addExport(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('export')
    .description('write all sealed audit records, the oldest first, in a format for other programs')
    .addOption(
      new Option('--format <format>', `write records in this format. ${DESCRIPTIONS}`)
        .choices(Object.keys(AUDIT_FORMATS))
        .default('jsonl'),
    )
    .option(
      '-o, --output <file>',
      'write to a new file with mode 0600; - is standard output (default)',
    )
    .option('--overwrite', 'replace an existing file');
  withRecordFlags(command, ['after', 'before']);
  withConnectionFlags(command).action(async (flags: RecordFlags & ExportFlags) => {
    const { format, output = '-', overwrite = false } = flags;
    const wanted = recordParameters(flags, terminal.now());
    const connection = await connect(flags, terminal);
    const version = parent.parent?.version() ?? '';
    const pages = linesOf(connection, wanted, format, version);
    if (output === '-') {
      for await (const text of pages) terminal.out.write(text);
      return;
    }
    const file = createFile(output, overwrite);
    try {
      for await (const text of pages) file.write(text);
    } catch (error) {
      file.discard();
      throw error;
    }
    file.close();
  });
  addExamples(command, [
    'tsigil audit export > audit.jsonl',
    {
      command: 'tsigil audit export --format cef --after 30d -o audit.cef',
      purpose: 'export the last 30 days for a SIEM',
    },
  ]);
}

/** Yields the lines of all records, one page at a time. */
async function* linesOf(
  connection: Connection,
  wanted: Parameters,
  format: string,
  version: string,
): AsyncGenerator<string> {
  const write = AUDIT_FORMATS[format]?.write;
  for (let marker: string | undefined = ''; marker !== undefined;) {
    const { records, next } = await getRecords(connection, [
      ...wanted,
      ['sort_dir', 'asc'],
      ['limit', String(MAX_LIMIT)],
      ...(marker === '' ? [] : [['marker', marker] as const]),
    ]);
    yield records.map((record) => `${write?.(record, version)}\n`).join('');
    marker = next;
  }
}
