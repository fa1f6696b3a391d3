import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf, faultOf } from '../../net/faults.ts';
import { CommandError, EXIT } from './errors.ts';

/**
 * Writes a file with mode 0600. To replace a file, renames a new one over it, because other users
 * may have permission to read the old one. Throws `CommandError` if the file exists and `overwrite`
 * is false, or if it cannot be written.
 */
export function saveFile(path: string, text: string, overwrite: boolean): void {
  const written = overwrite ? `${path}.${randomBytes(6).toString('hex')}` : path;
  try {
    writeFileSync(written, text, { flag: 'wx', mode: 0o600 });
    if (overwrite) renameSync(written, path);
  } catch (cause) {
    if (overwrite) rmSync(written, { force: true });
    if (codeOf(cause) === 'EEXIST') throw fileExists(path, cause);
    const { reason, hint } = faultOf(cause);
    throw new CommandError(EXIT.usage, `'${path}' cannot be written: ${reason}`, hint, cause);
  }
}

/** Returns the error for a file that exists and must not be replaced. */
export function fileExists(path: string, cause?: unknown): CommandError {
  return new CommandError(
    EXIT.usage,
    `'${path}' already exists. It was not changed.`,
    'Use --overwrite to replace it.',
    cause,
  );
}
