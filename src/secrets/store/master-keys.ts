import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import {
  formatMasterKey,
  masterKeyOf,
  parseMasterKeys,
  type MasterKey,
} from '../../core/master-key.ts';
import { faultOf } from '../../net/faults.ts';
import { READABLE_BY_ALL } from '../../net/files.ts';
import { writeSyncedFile } from '../../net/synced-file.ts';

export interface MasterKeySettings {
  readonly masterKey?: string | undefined;
  readonly masterKeyFile?: string | undefined;
}

/** The master keys of a source, or the reason why they cannot be used. */
interface FoundMasterKeys {
  /** The name of the source in messages. */
  readonly source: string;
  readonly file?: string;
  readonly keys: readonly MasterKey[];
  /** A sentence that names the source and its problem, and what to do next. */
  readonly problem?: string;
  readonly isReadable?: boolean;
  /** The id of the file's owner, unless the owner is root or the user of this process. */
  readonly otherOwner?: number | undefined;
}

const MAX_BYTES = 65_536;

const USE_A_FILE = 'Use the path of the master key file';

/** The mode bits that let other users replace a key in a file. */
const WRITABLE_BY_OTHERS = 0o022;

/** In order of precedence: the service uses the first source that is set. */
const SOURCES: readonly ((
  settings: MasterKeySettings,
  beside: string | undefined,
) => FoundMasterKeys | undefined)[] = [
  ({ masterKey }) =>
    masterKey === undefined
      ? undefined
      : { source: 'encryption.masterKey', ...read('encryption.masterKey', masterKey) },
  ({ masterKeyFile }) =>
    masterKeyFile === undefined ? undefined : readMasterKeyFile(masterKeyFile),
  (_settings, beside) =>
    beside === undefined || !existsSync(beside) ? undefined : readMasterKeyFile(beside),
];

/** `beside` is the file beside an embedded database. Returns undefined if no source is set. */
export function findMasterKeys(
  settings: MasterKeySettings,
  beside: string | undefined,
): FoundMasterKeys | undefined {
  for (const source of SOURCES) {
    const found = source(settings, beside);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Reads a master key file. Refuses a file that other users can change. */
export function readMasterKeyFile(file: string): FoundMasterKeys {
  const source = `'${file}'`;
  const subject = `The master key file ${source}`;
  const refused = (problem: string) => ({
    source,
    file,
    keys: [],
    problem: `${subject} ${problem}`,
  });
  try {
    const { text, mode, uid, problem } = readRegularFile(file);
    if (problem !== undefined) return refused(problem);
    if ((mode & WRITABLE_BY_OTHERS) !== 0)
      return refused(
        `can be changed by other users (mode ${mode.toString(8).padStart(4, '0')}). Run: chmod 600 ${source}`,
      );
    const otherOwner = [0, process.geteuid?.()].includes(uid) ? undefined : uid;
    const isReadable = (mode & READABLE_BY_ALL) !== 0;
    return { source, file, ...read(subject, text), isReadable, otherOwner };
  } catch (error) {
    return refused(
      `cannot be read: ${faultOf(error).message}. Check its path, its owner and its mode`,
    );
  }
}

/**
 * Creates a master key, and writes it to `file` with mode 0600. The file is on disk when the
 * function returns. Throws the file system errors of Node.js.
 */
export function createMasterKeyFile(file: string): MasterKey {
  const key = masterKeyOf(randomBytes(32));
  writeSyncedFile(file, `${formatMasterKey(key)}\n`);
  return key;
}

/**
 * Creates a master key, and adds it as the first line of `file`. Does not change the other lines,
 * the owner or the mode. After a crash, the file has either the old or the new content. Throws the
 * file system errors of Node.js.
 */
export function addMasterKey(file: string): MasterKey {
  if (!existsSync(file)) return createMasterKeyFile(file);
  const key = masterKeyOf(randomBytes(32));
  const content = `${formatMasterKey(key)}\n${readFileSync(file, 'utf8')}`;
  writeSyncedFile(realpathSync(file), content, statSync(file));
  return key;
}

function read(subject: string, text: string): Pick<FoundMasterKeys, 'keys' | 'problem'> {
  const refused = (problem: string) => ({ keys: [], problem: `${subject} ${problem}` });
  if (text.trim() === '')
    return refused(
      'is empty. Restore its master keys, or create one for a new database with: tsigil encryption new-master-key --file FILE',
    );
  const parsed = parseMasterKeys(text);
  return 'keys' in parsed ? parsed : refused(`cannot be used: ${parsed.problem}`);
}

interface RegularFile {
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
  readonly problem?: string;
}

function readRegularFile(file: string): RegularFile {
  // Without O_NONBLOCK, the call waits until another program writes to a named pipe.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    const access = { text: '', mode: stat.mode & 0o777, uid: stat.uid };
    if (stat.isDirectory()) return { ...access, problem: `is a folder, not a file. ${USE_A_FILE}` };
    if (!stat.isFile()) return { ...access, problem: `is not a regular file. ${USE_A_FILE}` };
    if (stat.size > MAX_BYTES)
      return {
        ...access,
        problem: `has ${stat.size} bytes, but a master key file has at most ${MAX_BYTES} bytes. ${USE_A_FILE}`,
      };
    return { ...access, text: readFileSync(descriptor, 'utf8') };
  } finally {
    closeSync(descriptor);
  }
}
