import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { CommandError, EXIT, fileError } from './command-error.ts';

/** Writes a file, as `createFile` does. */
export function saveFile(path: string, text: string, overwrite: boolean): void {
  const file = createFile(path, overwrite);
  file.write(text);
  file.close();
}

interface OpenedFile {
  write(text: string): void;
  close(): void;
  discard(): void;
}

/**
 * Creates a file with mode 0600, to write it piece by piece. `close` gives the file its final name,
 * and replaces an existing file, because other users may have permission to read the old one. Throws
 * `CommandError` if the file exists and `overwrite` is false, or if it cannot be written, such as a
 * pipe, a device or a folder.
 */
export function createFile(path: string, overwrite: boolean): OpenedFile {
  const written = `${path}.${randomBytes(6).toString('hex')}`;
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      rmSync(written, { force: true });
      throw fileError(path, 'written', cause);
    }
  };
  const present = attempt(() => statSync(path, { throwIfNoEntry: false }));
  if (present !== undefined && !overwrite) throw fileExists(path);
  if (present !== undefined && !present.isFile())
    throw new CommandError(
      EXIT.usage,
      `'${path}' cannot be written: it is not a regular file`,
      'Use the path of a regular file, or - for standard output.',
    );
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

export function fileExists(path: string): CommandError {
  return new CommandError(
    EXIT.usage,
    `'${path}' already exists. It was not changed.`,
    'Use --overwrite to replace it.',
  );
}
