import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { enumeration, text } from '../core/field.ts';
import { described, optional, withDefault } from '../core/object.ts';
import { line } from '../core/shared-fields.ts';
import { codeOf, describeFault } from '../net/faults.ts';
import { versionOf } from './digest.ts';
import { DriverError, unmet, type Requirement } from './driver.ts';

/** A path, a name or an address. */
export const OPTION_LINE = line(4096);

/** The option of every driver for the log of its server. */
export const LOG_MEMBER = {
  log: optional(
    described(
      ownPath(),
      'The log file of the name server, which shows who uses keys. It is only read.',
    ),
  ),
};

export const FILE_MEMBERS = {
  file: described(
    ownPath(),
    'The file that Tsigil writes, in a folder that has no other files. The name server must include it.',
  ),
  mode: withDefault(
    described(enumeration(['0640', '0600', '0440', '0400']), 'The mode of the file.'),
    '0640',
  ),
  owner: optional(described(OPTION_LINE, 'The user who owns the file, by name or number.')),
  group: optional(described(OPTION_LINE, 'The group of the file, by name or number.')),
  ...LOG_MEMBER,
};

/** Returns the kind of the path of a file that Tsigil writes. */
function ownPath() {
  return text({
    min: 1,
    max: 4096,
    problemOf: (value) =>
      /^\/[^\p{Cc}]*[^\p{Cc}/]$/u.test(value)
        ? undefined
        : "must be an absolute path without control characters, such as '/etc/bind/tsigil/keys.conf'",
  });
}

export interface FileOptions {
  readonly file: string;
  readonly mode: string;
  readonly owner?: string;
  readonly group?: string;
}

/** The file of one name server, which the configuration of the name server includes. */
export interface IncludeFile {
  readonly header: string;
  /**
   * Returns the content, or undefined if there is no file. Throws `DriverError` for a file with
   * keys that Tsigil has not written for this name server.
   */
  read(): Promise<string | undefined>;
  /**
   * Replaces the content, or removes the file. The former content stays after a failure. Throws
   * `DriverError`.
   */
  replace(content: string | undefined): Promise<void>;
  check(): Promise<Requirement>;
}

const HEADER = '# Tsigil writes this file for the name server ';

/** How much of another file shows whether Tsigil wrote it. */
const START_BYTES = 64 * 1024;

export function createIncludeFile(options: FileOptions, id: string): IncludeFile {
  const { file } = options;
  const folder = dirname(file);
  const header = `${HEADER}${id} and overwrites other changes.`;
  const temporaryPrefix = `.${basename(file)}.tsigil-`;
  const notWritable = (cause: unknown) =>
    new DriverError(
      'not_writable',
      `The file '${file}' cannot be written: ${describeFault(cause)}.`,
      `Check that the folder '${folder}' exists and that the disk has space. The user of this process must be able to write to the folder.`,
      cause,
    );

  /** Throws `DriverError` if other programs have files in the folder, which Tsigil may replace. */
  const assertOwnFolder = async () => {
    const names = await readdir(folder).catch((cause: unknown) => {
      throw notWritable(cause);
    });
    const others = names.filter(
      (name) => !name.startsWith('.') && !name.startsWith(basename(file)),
    );
    for (const name of others)
      if (!(await isOwn(join(folder, name))))
        throw new DriverError(
          'foreign_file',
          `The folder '${folder}' is not Tsigil's own: it has '${name}'.`,
          `Set \`file\` to a file in a folder for Tsigil alone, such as '${join(folder, 'tsigil', basename(file))}', and include this file in the configuration of the name server.`,
        );
  };

  /** The content as read last. A check of a file with 2,000 keys need not read it twice a minute. */
  let last: { readonly version: string; readonly content: string } | undefined;

  const read = async () => {
    let content: string;
    let found: ReturnType<typeof versionOf>;
    await assertOwnFolder();
    try {
      found = versionOf(await stat(file, { bigint: true }));
      if (last?.version === found.version) return last.content;
      content = await readFile(file, 'utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined;
      throw notWritable(cause);
    }
    if (content.startsWith(HEADER) && !content.startsWith(`${HEADER}${id} `)) {
      const other = content.slice(HEADER.length).split(/\s/, 1)[0]?.slice(0, 36) ?? '';
      throw new DriverError(
        'foreign_file',
        `The file '${file}' belongs to the name server with the id '${other}'.`,
        `If that name server was deleted, replace that id with '${id}' in the first line of the file. Otherwise, set another file for this name server.`,
      );
    }
    if (!content.startsWith(HEADER) && hasKey(content))
      throw new DriverError(
        'foreign_file',
        `The file '${file}' has keys that Tsigil did not write for this name server.`,
        'Set another file for this name server, or move the keys of this file to another file.',
      );
    last = found.isSettled ? { version: found.version, content } : undefined;
    return content;
  };

  return {
    header,
    read,
    async replace(content) {
      try {
        // A process that was killed leaves its temporary file, which contains secrets.
        for (const name of await readdir(folder))
          if (name.startsWith(temporaryPrefix)) await rm(join(folder, name), { force: true });
        if (content === undefined) await rm(file, { force: true });
        else await write(options, join(folder, `${temporaryPrefix}${randomUUID()}`), content);
        const handle = await open(folder, 'r');
        await handle.sync().finally(() => handle.close());
      } catch (cause) {
        throw cause instanceof DriverError ? cause : notWritable(cause);
      }
    },
    async check() {
      const requirement = `Tsigil can replace the file '${file}'.`;
      try {
        await read();
        await access(folder, constants.W_OK | constants.X_OK);
        await ownerOf(options);
        return { requirement, ok: true };
      } catch (cause) {
        return unmet(requirement, cause instanceof DriverError ? cause : notWritable(cause));
      }
    },
  };
}

/** Returns the content of a file without the line that makes it Tsigil's. */
export function withoutHeader(content: string): string {
  return content.startsWith(HEADER) ? content.slice(content.indexOf('\n') + 1) : content;
}

/** Returns whether a file has the keys of another name server, or the lists for its first keys. */
async function isOwn(file: string): Promise<boolean> {
  const start = await startOf(file).catch(() => '');
  return start.startsWith(HEADER) || (!hasKey(start) && start.includes('tsigil-transfer'));
}

/** Returns the start of a file of any length. Reads no named pipe or device, which can take for ever. */
async function startOf(file: string): Promise<string> {
  if (!(await stat(file)).isFile()) return '';
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(START_BYTES) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Returns whether the content has a key outside comments. */
function hasKey(content: string): boolean {
  return /\bkey\b/i.test(content.replaceAll(/^\s*(?:#|\/\/).*$/gm, ''));
}

async function write(options: FileOptions, temporary: string, content: string): Promise<void> {
  try {
    const owner = await ownerOf(options);
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
      await handle.chmod(parseInt(options.mode, 8));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, options.file);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
}

/** -1 leaves the owner or the group unchanged. */
async function ownerOf({
  owner,
  group,
}: FileOptions): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (owner === undefined && group === undefined) return undefined;
  return { uid: await idOf('user', owner), gid: await idOf('group', group) };
}

const ACCOUNTS = { user: '/etc/passwd', group: '/etc/group' } as const;

async function idOf(kind: keyof typeof ACCOUNTS, name: string | undefined): Promise<number> {
  if (name === undefined) return -1;
  if (/^\d{1,9}$/.test(name)) return Number(name);
  const rows = (await readFile(ACCOUNTS[kind], 'utf8')).split('\n').map((row) => row.split(':'));
  const id = rows.find(([first]) => first === name)?.[2];
  if (id === undefined)
    throw new DriverError(
      'not_writable',
      `The ${kind} '${name}' is not in ${ACCOUNTS[kind]}.`,
      `Set the name or the number of an existing ${kind}.`,
    );
  return Number(id);
}
