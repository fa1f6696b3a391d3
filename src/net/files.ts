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

/** The paths of this process's own open files, such as the pipe of a process substitution. */
const OWN_FILE = /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;

/**
 * Returns the content of a file. Throws Node's errors. For a pipe or a device, throws an error with
 * the code `ENOTREG`: a read could wait without end. Reads such files only if this process has them
 * open already.
 */
export function readWholeFile(path: string): Buffer {
  if (OWN_FILE.test(path) || path === '/dev/null') return readFileSync(path);
  // Without O_NONBLOCK, the call waits until another program writes to a named pipe.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const file = fstatSync(descriptor);
    if (!file.isFile() && !file.isDirectory())
      throw Object.assign(new Error(`'${path}' is not a file`), {
        code: 'ENOTREG',
        syscall: 'open',
        path,
      });
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a folder and those above it with mode 0700, unless they exist. Throws Node's errors. The
 * recursive function of Node.js does not return for a folder below `/proc`.
 */
export function createFolder(path: string): void {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
