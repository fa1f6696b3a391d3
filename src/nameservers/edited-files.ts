import { link, mkdtemp, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyEdits, type Edit, type Source } from '../domain/access/rewrite.ts';
import type { IncludedFile } from '../domain/key-formats/reader.ts';
import { codeOf, describeFault } from '../net/faults.ts';
import { writeSyncedFile } from '../net/synced-file.ts';
import { readConfiguration } from './configuration-files.ts';
import { DriverError, type ServerFiles } from './driver.ts';
import { problemBy } from './programs.ts';

/** How long a program may take to check a configuration, and a server to load it. */
const [CHECK_MS, LOAD_MS] = [60_000, 30_000];

/** What the former content of an edited file is kept as. */
const FORMER = '.before-tsigil';

/** A statement that includes another file, with its line. */
const INCLUDE = /^[ \t]*include:?[ \t]+"?([^"\s;]+)"?[ \t]*;?/gm;

/**
 * Opens the files of a server to edit them: its configuration, and Tsigil's file, which it may
 * include. Throws `DriverError`.
 */
export async function openFiles({ format, own, main, checker, plain, load }: ServerFiles) {
  const configuration = await readConfiguration(main, own);
  if (configuration === undefined)
    throw new DriverError(
      'not_permitted',
      `'${main}', or a file that it includes, cannot be read.`,
      'Run the command on the host of the name server, as a user who can read and write these files.',
    );
  const { text, include, includesOwn } = configuration;
  const content = await readFile(own, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw notWritten(own, error);
  });
  const ownFile = { path: own, text: content };
  const source: Source = {
    path: main,
    text,
    include: (statement) => include(statement).map((file) => (file.path === own ? ownFile : file)),
  };
  /** The edited files, in order. */
  const edited: string[] = [];

  const created: string[] = [];
  const remove = (path: string) => rm(path, { force: true });

  const undo = async () => {
    for (const file of edited.splice(0).toReversed()) await rename(`${file}${FORMER}`, file);
    for (const file of created.splice(0)) await remove(file);
  };
  return {
    format,
    own: ownFile,
    plain: plain(content),
    includesOwn,
    source,
    /** Returns what the server's own program finds in an edited configuration, or undefined. */
    async check(edit: Source): Promise<string | undefined> {
      const folder = await mkdtemp(join(tmpdir(), 'tsigil-check-'));
      try {
        const file = join(folder, 'server.conf');
        await writeFile(file, inOneFile(edit), { mode: 0o600 });
        const [program, ...parameters] = checker(file);
        return await problemBy(program, parameters, AbortSignal.timeout(CHECK_MS));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    /**
     * Replaces each file that has edits, and keeps the former one beside it. Changes nothing if a
     * file cannot be replaced, or has changed since it was read.
     */
    async write(edits: readonly Edit[], textOf: (file: string) => string): Promise<void> {
      const files = [...new Set(edits.map(({ file }) => file))];
      // The file that includes Tsigil's comes last: until then, the service does not load it.
      const isLast = (file: string) =>
        edits.some((edit) => edit.file === file && edit.text.includes(own));
      const ordered = [...files.filter((file) => !isLast(file)), ...files.filter(isLast)];
      try {
        for (const path of ordered) {
          const file = await realpath(path);
          const former = textOf(path);
          if ((await readFile(file, 'utf8')) !== former)
            throw new Error('it has just been changed');
          await rm(`${file}${FORMER}`, { force: true });
          await link(file, `${file}${FORMER}`);
          writeSyncedFile(
            file,
            applyEdits(
              former,
              edits.filter((edit) => edit.file === path),
            ),
            await stat(file),
          );
          edited.push(file);
        }
      } catch (error) {
        await undo();
        throw notWritten(ordered[edited.length] ?? main, error);
      }
    },
    undo,
    remove,
    /** Writes Tsigil's file as one of the operator. */
    async create({ path, text: plainText }: IncludedFile): Promise<void> {
      try {
        writeSyncedFile(path, plainText, await stat(own));
        created.push(path);
      } catch (error) {
        throw notWritten(path, error);
      }
    },
    load: () => load(AbortSignal.timeout(LOAD_MS)),
  };
}

function notWritten(file: string, cause: unknown): DriverError {
  return new DriverError(
    'not_writable',
    `'${file}' cannot be replaced: ${describeFault(cause)}. Nothing was changed.`,
    'Run the command on the host of the name server, as a user who can write this file.',
    cause,
  );
}

/** Returns a configuration with the content of its included files in place of their names. */
function inOneFile({ text, include }: Source): string {
  const textOf = (content: string, file: IncludedFile | undefined): string =>
    content.replaceAll(INCLUDE, (_, pattern: string) =>
      include({ line: 0, file, pattern, directories: [] })
        .map((each) => `\n${textOf(each.text, each)}\n`)
        .join(''),
    );
  return textOf(text, undefined);
}
