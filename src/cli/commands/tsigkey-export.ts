import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { ServiceError } from '../../domain/model/errors.ts';
import { EXPORT_FORMATS, exportKey, type KeyFile } from '../../domain/key-formats/formats.ts';
import type { Key } from '../../domain/key-formats/key.ts';
import { weaknessOf } from '../../domain/resources/tsigkey.ts';
import { faultOf } from '../../net/faults.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { getKey } from '../service/key-requests.ts';
import type { Terminal } from '../output/terminal.ts';

interface ExportFlags extends ConnectionFlags {
  readonly format: string;
  readonly output?: string;
  readonly overwrite?: boolean;
}

/** Adds the command that writes a key in the format of a program. */
export function addExport(tsigkey: Command, terminal: Terminal): void {
  const command = tsigkey
    .command('export')
    .description('write a key in the format of a program; refuse a key that the program cannot use')
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .addOption(
      new Option('--format <format>', 'write the format of this program')
        .choices(Object.keys(EXPORT_FORMATS))
        .makeOptionMandatory(),
    )
    .option(
      '-o, --output <file>',
      'write to a new file with mode 0600; - is standard output (default)',
    )
    .option('--overwrite', 'replace the file if it exists')
    .action(async (idOrName: string, flags: ExportFlags) => {
      const key = await getKey(await connect(flags, terminal), idOrName);
      const { text } = write(flags.format, key);
      const weakness = weaknessOf(key.algorithm);
      if (weakness !== undefined) terminal.err.write(`${key.algorithm} ${weakness}\n`);
      if (flags.output === undefined || flags.output === '-') terminal.out.write(text);
      else saveFile(flags.output, text, flags.overwrite === true);
    });
  addExamples(withConnectionFlags(command), [
    'tsigil tsigkey export transfer-key --format bind -o /etc/bind/transfer-key.conf',
    {
      command: 'tsigil tsigkey export transfer-key --format knot | sudo tee -a /etc/knot/knot.conf',
      purpose: 'appends the key to a configuration file',
    },
  ]);
}

function write(format: string, key: Key): KeyFile {
  try {
    return exportKey(format, key);
  } catch (error) {
    if (error instanceof ServiceError)
      throw new CommandError(EXIT.refused, error.message, undefined, error);
    throw error;
  }
}

/** Writes a file with mode 0600. To replace a file, renames a new one over it, because other users may have permission to read the old one. */
function saveFile(path: string, text: string, overwrite: boolean): void {
  const written = overwrite ? `${path}.${randomBytes(6).toString('hex')}` : path;
  try {
    writeFileSync(written, text, { flag: 'wx', mode: 0o600 });
    if (overwrite) renameSync(written, path);
  } catch (cause) {
    if (overwrite) rmSync(written, { force: true });
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    if (exists)
      throw new CommandError(
        EXIT.usage,
        `'${path}' already exists. It was not changed.`,
        'Use --overwrite to replace it.',
        cause,
      );
    const { reason, hint } = faultOf(cause);
    throw new CommandError(EXIT.usage, `'${path}' cannot be written: ${reason}`, hint, cause);
  }
}
