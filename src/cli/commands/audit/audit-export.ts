import { RECORD } from '../../../domain/operations/audit-responses.ts';
import { defineCommand } from '../../flags/command.ts';
import { text, toggle } from '../../flags/flag.ts';
import { plainText } from '../../output/plain-text.ts';
import { createFile } from '../../output/save-file.ts';
import { callForLines } from '../../service/client.ts';
import { pathWith } from '../../service/resource-requests.ts';
import { RECORD_FLAGS, recordParameters } from './audit-flags.ts';

export const auditExport = defineCommand({
  name: 'export',
  description: 'write all sealed audit records as JSON lines, the oldest first',
  flags: {
    output: text('<file>', 'write to a new file with mode 0600; - is standard output (default)', {
      short: '-o',
    }),
    overwrite: toggle('replace an existing file'),
    ...RECORD_FLAGS,
  },
  examples: [
    'tsigil audit export > audit.jsonl',
    'tsigil audit export --after 30d -o audit.jsonl  # export the last 30 days',
  ],
  async run({ connect, flags, terminal }) {
    const { output = '-', overwrite = false } = flags;
    const path = pathWith('/v2/audit', recordParameters(flags, terminal.now()));
    const parts = callForLines(RECORD, await connect(), path);
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
  },
});
