import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The mode bit that lets every user of the machine read a file. */
export const READABLE_BY_ALL = 0o004;

/** The paths of this process's own open files, such as the pipe of a process substitution. */
const OWN_FILE = /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;

/** Returns the error for a pipe or a device, in the form of Node's errors. */
export function notAFile(path: string): NodeJS.ErrnoException {
  const message = `'${path}' is not a file`;
  return Object.assign(new Error(message), { code: 'ENOTREG', syscall: 'open', path });
}

/**
 * Returns the content of a file. Throws Node's errors. Throws an error with the code `ENOTREG` for
 * a pipe or a device that this process has not opened. Reading such a file could block
 * indefinitely.
 */
export function readWholeFile(path: string): Buffer {
  if (OWN_FILE.test(path) || path === '/dev/null') return readFileSync(path);
  // Without O_NONBLOCK, the call waits until another program writes to a named pipe.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const file = fstatSync(descriptor);
    if (!file.isFile() && !file.isDirectory()) throw notAFile(path);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a folder and its missing parents with mode 0700. Throws Node's errors. `mkdirSync` with
 * the option `recursive` does not return for a folder below `/proc`.
 */
export function createFolder(path: string): void {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
