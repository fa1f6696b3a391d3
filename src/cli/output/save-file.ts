import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { codeOf, faultOf } from '../../net/faults.ts';
import { CommandError, EXIT } from './command-error.ts';

/**
 * Writes a file with mode 0600. Replaces an existing file by renaming a new one, because other
 * users may have permission to read the old file. Throws `CommandError` if the file exists and
 * `overwrite` is false, or if it cannot be written. Also throws `CommandError` for a pipe, a device
 * or a folder.
 */
export function saveFile(path: string, text: string, overwrite: boolean): void {
  const written = overwrite ? `${path}.${randomBytes(6).toString('hex')}` : path;
  try {
    if (overwrite) assertReplaceable(path);
    writeFileSync(written, text, { flag: 'wx', mode: 0o600 });
    if (overwrite) renameSync(written, path);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    if (overwrite) rmSync(written, { force: true });
    if (codeOf(cause) === 'EEXIST') throw fileExists(path, cause);
    const { message: reason, hint } = faultOf(cause);
    throw new CommandError(EXIT.usage, `'${path}' cannot be written: ${reason}`, hint, cause);
  }
}

/** Throws `CommandError` for a device, a pipe or a folder, which a new file must not replace. */
function assertReplaceable(path: string): void {
  const present = statSync(path, { throwIfNoEntry: false });
  if (present === undefined || present.isFile()) return;
  throw new CommandError(
    EXIT.usage,
    `'${path}' cannot be written: it is not a regular file`,
    'Use the path of a regular file, or - for standard output.',
  );
}

export interface OpenedFile {
  write(text: string): void;
  close(): void;
  discard(): void;
}

/**
 * Creates a file with mode 0600, to write it piece by piece. `close` gives the file its final
 * name. Throws `CommandError` if the file exists and `overwrite` is false, or if it cannot be
 * written.
 */
export function createFile(path: string, overwrite: boolean): OpenedFile {
  if (overwrite) assertReplaceable(path);
  else if (existsSync(path)) throw fileExists(path);
  const written = `${path}.${randomBytes(6).toString('hex')}`;
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      rmSync(written, { force: true });
      const { message: reason, hint } = faultOf(cause);
      throw new CommandError(EXIT.usage, `'${path}' cannot be written: ${reason}`, hint, cause);
    }
  };
  const descriptor = attempt(() => openSync(written, 'wx', 0o600));
  return {
    write: (text) => attempt(() => writeFileSync(descriptor, text)),
    close: () =>
      attempt(() => {
        closeSync(descriptor);
        renameSync(written, path);
      }),
    discard() {
      closeSync(descriptor);
      rmSync(written, { force: true });
    },
  };
}

export function fileExists(path: string, cause?: unknown): CommandError {
  return new CommandError(
    EXIT.usage,
    `'${path}' already exists. It was not changed.`,
    'Use --overwrite to replace it.',
    cause,
  );
}
