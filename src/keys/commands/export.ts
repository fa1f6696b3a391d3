import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../../core/errors.ts';
import {
  EXPORT_FORMATS,
  exportKey,
  exportKeys,
  exportProblems,
  findFormat,
  readPrimary,
  SIDES,
  type KeyFile,
} from '../export/export-formats.ts';
import { canonicalKey, type Key } from '../../formats/key.ts';
import { holdsSeveral, type Primary } from '../../formats/writer.ts';
import { weaknessOf } from '../../dns/algorithms.ts';
import { createFolder } from '../../net/files.ts';
import { faultOf } from '../../net/faults.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { plainCell } from '../../cli/output/output.ts';
import { fileExists, saveFile } from '../../cli/output/save-file.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { choice, required, text, toggle, type ValuesOf } from '../../cli/flags/flag.ts';
import { assertOneSelection, selectKeys } from './key-requests.ts';
import type { Terminal } from '../../cli/output/terminal.ts';

const FLAGS = {
  format: required(
    choice('<format>', Object.keys(EXPORT_FORMATS), 'write keys in the format of this program'),
  ),
  pool: text('<pool>', 'write the keys that apply to this pool (name or id)', {
    conflicts: ['tsigkey', 'all'],
  }),
  all: toggle('write all keys', { conflicts: ['tsigkey'] }),
  current: toggle(
    'write the key to use now instead of one that it replaces; the name of any key of its lineage is enough',
    { conflicts: ['pool', 'all'] },
  ),
  for: choice(
    '<side>',
    SIDES,
    'write what this side of a transfer needs: the one that accepts requests, or a secondary server (default: primary)',
  ),
  primary: text(
    '<address>',
    'with --for secondary: the address of the primary server, such as 192.0.2.53 or [2001:db8::53]:5300',
  ),
  zone: text(
    '<zone>',
    'with --for secondary: the zone to transfer (default: an example as a comment)',
  ),
  output: text('<file>', 'write to a new file with mode 0600; - is standard output (default)', {
    short: '-o',
    conflicts: ['outputDir'],
  }),
  outputDir: text('<folder>', 'write each key to a new file with mode 0600 in this folder'),
  overwrite: toggle('replace existing files'),
};

type ExportFlags = ValuesOf<typeof FLAGS>;

export const keyExport = defineCommand({
  name: 'export',
  description: 'write keys in the format of a program, except keys that the program cannot use',
  argument: ['[tsigkey...]', 'ids or names of the tsigkeys'],
  flags: FLAGS,
  examples: [
    'tsigil tsigkey export transfer-key --format bind -o /etc/bind/transfer-key.conf',
    'tsigil tsigkey export transfer-key --format knot | sudo tee -a /etc/knot/knot.conf  # append the key to a configuration file',
    'tsigil tsigkey export --pool default --format nsd -o /etc/nsd/nsd.conf.d/keys.conf --overwrite  # replace a file with the current keys of a pool',
    'tsigil tsigkey export transfer-key --current --for secondary --primary 192.0.2.53 --zone example.org --format knot  # write what the operator of a secondary server needs',
    'tsigil tsigkey export --all --format lego --output-dir ./keys  # write one file for each key',
  ],
  async run({ argument: idsOrNames, connect, flags, terminal }) {
    assertOneSelection(idsOrNames, flags);
    assertFits(idsOrNames, flags);
    const primary = primaryOf(idsOrNames, flags);
    const selected = await selectKeys(await connect(), idsOrNames, flags, 'exported');
    const keys = selected.toSorted((one, other) =>
      canonicalKey(one).name < canonicalKey(other).name ? -1 : 1,
    );
    const [only, ...others] = keys;
    // For a single key, throws the error that the API returns.
    if (only !== undefined && others.length === 0) tryExport(flags.format, only, primary);
    const usable = keys.filter((key) => isUsable(key, flags.format, terminal));
    for (const { name, algorithm } of usable) {
      const weakness = weaknessOf(algorithm);
      const subject = keys.length > 1 ? `${plainCell(name)}: ${algorithm}` : algorithm;
      if (weakness !== undefined) terminal.err.write(`${subject} ${weakness}\n`);
    }
    if (usable.length > 0) write(usable, flags, primary, terminal);
    const refused = keys.length - usable.length;
    if (refused > 0)
      throw new CommandError(
        EXIT.refused,
        `${usable.length} of ${keys.length} keys exported, ${refused} not exported`,
      );
  },
});

/** Throws `CommandError` if several keys may go into one file, and the format allows only one. */
function assertFits(idsOrNames: readonly string[], { format: name, outputDir }: ExportFlags): void {
  const format = findFormat(name);
  if (holdsSeveral(format) || outputDir !== undefined || idsOrNames.length === 1) return;
  throw new CommandError(
    EXIT.usage,
    `A file in the format '${name}' for ${format.consumer} can contain only one key`,
    'Use --output-dir to write one file for each key.',
  );
}

/** Returns the primary server of a secondary, if the text is for one. Throws `CommandError`. */
function primaryOf(idsOrNames: readonly string[], flags: ExportFlags): Primary | undefined {
  try {
    const primary = readPrimary(flags.format, flags);
    if (primary === undefined || idsOrNames.length === 1) return primary;
  } catch (error) {
    if (error instanceof ServiceError) throw new CommandError(EXIT.usage, error.message);
    throw error;
  }
  throw new CommandError(EXIT.usage, 'A text for a secondary server can contain only one key');
}

/** Returns whether the consumer can use a key. If not, reports the reason. */
function isUsable(key: Key, format: string, { err }: Terminal): boolean {
  const problems = exportProblems(findFormat(format), key);
  if (problems.length > 0)
    err.write(`${plainCell(key.name)}: not exported: ${problems.join('; ')}\n`);
  return problems.length === 0;
}

function tryExport(format: string, key: Key, primary: Primary | undefined): KeyFile {
  try {
    return exportKey(format, key, primary);
  } catch (error) {
    if (error instanceof ServiceError)
      throw new CommandError(EXIT.refused, error.message, undefined, error);
    throw error;
  }
}

/** Writes usable keys to standard output, a file or a folder. Throws `CommandError`. */
function write(
  keys: readonly Key[],
  flags: ExportFlags,
  primary: Primary | undefined,
  { out }: Terminal,
): void {
  const { output, outputDir, overwrite = false } = flags;
  if (outputDir !== undefined) {
    const files = keys.map((key) => exportKey(flags.format, key, primary));
    saveFiles(outputDir, files, overwrite);
    return;
  }
  const [only] = keys;
  const text =
    primary === undefined || only === undefined
      ? exportKeys(flags.format, keys)
      : exportKey(flags.format, only, primary).text;
  if (output === undefined || output === '-') out.write(text);
  else saveFile(output, text, overwrite);
}

/** Writes no file if any of the files exists, unless `overwrite` is true. */
function saveFiles(folder: string, files: readonly KeyFile[], overwrite: boolean): void {
  const paths = files.map(({ fileName }) => join(folder, fileName));
  const repeated = paths.find((path, index) => paths.indexOf(path) < index);
  if (repeated !== undefined)
    throw new CommandError(
      EXIT.usage,
      `Two keys have the same file name '${repeated}', because their names are too long`,
      'Export one of the keys with --output.',
    );
  const existing = paths.find((path) => !overwrite && existsSync(path));
  if (existing !== undefined) throw fileExists(existing);
  try {
    createFolder(folder);
  } catch (cause) {
    const { message: reason, hint } = faultOf(cause);
    throw new CommandError(EXIT.usage, `'${folder}' cannot be created: ${reason}`, hint, cause);
  }
  for (const [index, { text }] of files.entries()) saveFile(paths[index] ?? '', text, overwrite);
}
