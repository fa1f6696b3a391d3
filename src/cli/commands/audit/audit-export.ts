import type { Command } from 'commander';
import { RECORD } from '../../../domain/operations/audit-responses.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { plainText } from '../../output/plain-text.ts';
import { createFile } from '../../output/save-file.ts';
import type { Terminal } from '../../output/terminal.ts';
import { callForLines } from '../../service/client.ts';
import { recordParameters, withRecordFlags, type RecordFlags } from './audit-flags.ts';
import { pathOf } from './audit-requests.ts';

interface ExportFlags {
  readonly output?: string;
  readonly overwrite?: boolean;
}

export function addExport(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('export')
    .description('write all sealed audit records as JSON lines, the oldest first')
    .option(
      '-o, --output <file>',
      'write to a new file with mode 0600; - is standard output (default)',
    )
    .option('--overwrite', 'replace an existing file');
  withRecordFlags(command);
  withConnectionFlags(command).action(async (flags: RecordFlags & ExportFlags) => {
    const { output = '-', overwrite = false } = flags;
    const path = pathOf('/v2/audit', recordParameters(flags, terminal.now()));
    const parts = callForLines(RECORD, await connect(flags, terminal), path);
    const textOf = (records: readonly object[]) =>
      records.map((record) => `${plainText(JSON.stringify(record))}\n`).join('');
    if (output === '-') {
      for await (const records of parts) terminal.out.write(textOf(records));
      return;
    }
    const file = createFile(output, overwrite);
    try {
      for await (const records of parts) file.write(textOf(records));
    } catch (error) {
      file.discard();
      throw error;
    }
    file.close();
  });
  addExamples(command, [
    'tsigil audit export > audit.jsonl',
    {
      command: 'tsigil audit export --after 30d -o audit.jsonl',
      purpose: 'export the last 30 days',
    },
  ]);
}
