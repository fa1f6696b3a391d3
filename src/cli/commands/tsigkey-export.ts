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

/** Adds the command that writes a key in the form that a consumer takes. */
export function addExport(tsigkey: Command, terminal: Terminal): void {
  const command = tsigkey
    .command('export')
    .description('write a key in the form that a program takes; one that the program could not use is refused')
    .argument('<tsigkey>', 'its id or name')
    .addOption(new Option('--format <format>', 'for which program').choices(Object.keys(EXPORT_FORMATS)).makeOptionMandatory())
    .option('-o, --output <file>', 'write a new file that nobody else can read; - is standard output, and the default')
    .option('--overwrite', 'replace the file if there is one')
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
    { command: 'tsigil tsigkey export transfer-key --format knot | sudo tee -a /etc/knot/knot.conf', purpose: 'add it to a configuration' },
  ]);
}

function write(format: string, key: Key): KeyFile {
  try {
    return exportKey(format, key);
  } catch (error) {
    if (error instanceof ServiceError) throw new CommandError(EXIT.refused, error.message, undefined, error);
    throw error;
  }
}

/** A file that is replaced is made anew, since the one that was there might be readable by others. */
function saveFile(path: string, text: string, overwrite: boolean): void {
  const written = overwrite ? `${path}.${randomBytes(6).toString('hex')}` : path;
  try {
    writeFileSync(written, text, { flag: 'wx', mode: 0o600 });
    if (overwrite) renameSync(written, path);
  } catch (cause) {
    if (overwrite) rmSync(written, { force: true });
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    if (exists) throw new CommandError(EXIT.usage, `'${path}' exists, and was left as it is`, 'Add --overwrite to replace it.', cause);
    const { reason, hint } = faultOf(cause);
    throw new CommandError(EXIT.usage, `'${path}' cannot be written: ${reason}`, hint, cause);
  }
}
