import {
  chmod,
  link,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { applyEdits, type Edit, type Source } from './rewrite.ts';
import { KeyFileError, type IncludedFile } from '../formats/reader.ts';
import { codeOf, describeFault } from '../net/faults.ts';
import { writeSyncedFile } from '../net/synced-file.ts';
import { INCLUDE, readConfiguration } from './configuration-files.ts';
import { DriverError, type ServerFiles } from './driver.ts';
import { problemBy } from './programs.ts';

/** How long a program may take to check a configuration. */
const CHECK_MS = 60_000;

/**
 * Keeps a file under another name, and returns its path. Patterns that include files of a folder
 * match no name that begins with a dot, and the copy of a run that was killed stays.
 */
async function keep(file: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const kept = keptPath(file, number);
    try {
      await link(file, kept);
      return kept;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

function keptPath(file: string, number: number): string {
  const end = number === 1 ? '' : `-${number}`;
  return join(dirname(file), `.${basename(file)}.before-tsigil${end}`);
}

/** Returns the files that `keep` has kept in the folders of these files. */
export async function keptBeside(paths: Iterable<string>): Promise<readonly string[]> {
  const kept = new Set<string>();
  for (const path of paths) {
    const folder = dirname(await realpath(path));
    for (const name of await readdir(folder).catch(() => []))
      if (/^\..+\.before-tsigil(?:-\d+)?$/.test(name)) kept.add(join(folder, name));
  }
  return [...kept].toSorted();
}

/** Returns the newest file that `keep` has kept, unless it is equal to the present one. */
async function newestKept(path: string, text: string): Promise<string | undefined> {
  const file = await realpath(path);
  let newest: { readonly kept: string; readonly content: string } | undefined;
  for (let number = 1; ; number += 1) {
    const kept = keptPath(file, number);
    const content = await readFile(kept, 'utf8').catch(() => undefined);
    if (content === undefined) return newest?.content === text ? undefined : newest?.kept;
    newest = { kept, content };
  }
}

/** Opens the configuration, and Tsigil's file, which it may include. Throws `DriverError`. */
export async function openFiles(server: ServerFiles) {
  const { format, own, main, plain } = server;
  const configuration = await readConfiguration(main, own);
  if (configuration === undefined) throw notRead(`'${main}', or a file that it includes,`);
  const { text, include, files, ownPaths } = configuration;
  const texts = new Map([...files].map(([path, file]) => [path, file.text]));
  const formerFiles = new Map<string, string>();
  for (const [path, former] of texts) {
    const found = await newestKept(path, former);
    if (found !== undefined) formerFiles.set(path, found);
  }
  const content = await readFile(own, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw notRead(`'${own}'`, error);
  });
  const ownFile = { path: own, text: content };
  const source: Source = {
    path: main,
    text,
    include(statement) {
      try {
        return include(statement).map((file) => (ownPaths.has(file.path) ? ownFile : file));
      } catch {
        const problem = `'${statement.pattern}' was not read; begin a line with this include statement, and check that the file exists`;
        throw new KeyFileError(statement, problem);
      }
    },
  };
  return {
    format,
    own: ownFile,
    plain: plain(content),
    includesOwn: ownPaths.size > 0,
    source,
    texts,
    formerFiles,
    /**
     * Returns the edits that include another file instead of one, or none if no file includes it.
     * Throws `KeyFileError` if only a pattern or a folder includes it.
     */
    includeEdits(from: string, to: string): readonly Edit[] {
      const edits = [...texts].flatMap(([file, former]) =>
        [...former.matchAll(INCLUDE)].flatMap((found): Edit[] => {
          const [statement, path = ''] = found;
          const absolute = resolve(dirname(file), path);
          if ((ownPaths.has(absolute) ? own : absolute) !== from) return [];
          const start = found.index + statement.lastIndexOf(path);
          return [{ file, start, end: start + path.length, text: to }];
        }),
      );
      const isIncluded = from === own ? ownPaths.size > 0 : texts.has(from);
      if (isIncluded && edits.length === 0)
        throw new KeyFileError(main, `only a pattern or a folder includes '${from}', not its path`);
      return edits;
    },
    editor: createEditor(server, texts),
  };
}

function createEditor(
  { own, main, checker, load }: ServerFiles,
  texts: ReadonlyMap<string, string>,
) {
  /** The edited files, in order, and where the former ones are kept. */
  const edited: (readonly [file: string, kept: string])[] = [];

  const created: string[] = [];
  const remove = (path: string) => rm(path, { force: true });

  const undo = async () => {
    const problems: string[] = [];
    for (const [file, kept] of edited.splice(0).toReversed())
      try {
        await rename(kept, file);
        await remove(kept); // which stays if both are still the same file
      } catch (error) {
        problems.push(`'${kept}' cannot be renamed to '${file}': ${describeFault(error)}`);
      }
    if (problems.length > 0)
      throw new DriverError(
        'not_writable',
        `${problems.join('; ')}.`,
        'Rename the file, and make the name server load its configuration.',
      );
    for (const file of created.splice(0)) await remove(file);
  };
  return {
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
    async write(edits: readonly Edit[]): Promise<void> {
      const paths = [...new Set(edits.map(({ file }) => file))];
      // The file that includes Tsigil's comes last: until then, the service does not load it.
      const isLast = (file: string) =>
        edits.some((edit) => edit.file === file && edit.text.includes(own));
      const ordered = [...paths.filter((path) => !isLast(path)), ...paths.filter(isLast)];
      let current = main;
      try {
        for (const path of ordered) {
          current = path;
          const file = await realpath(path);
          const former = texts.get(path) ?? '';
          if ((await readFile(file, 'utf8')) !== former)
            throw new Error('it has just been changed');
          const access = await stat(file);
          edited.push([file, await keep(file)]);
          writeSyncedFile(
            file,
            applyEdits(
              former,
              edits.filter((edit) => edit.file === path),
            ),
            access,
          );
        }
      } catch (error) {
        await undo();
        throw notWritten(current, error);
      }
    },
    undo,
    remove,
    /** Lets only the owner read the former files, once nothing needs them, and returns their paths. */
    async seal(): Promise<readonly string[]> {
      const paths = edited.map(([, former]) => former);
      for (const path of paths) await chmod(path, 0o600);
      return paths;
    },
    /** Writes Tsigil's file as one of the operator. */
    async create({ path, text: plainText }: IncludedFile): Promise<void> {
      try {
        writeSyncedFile(path, plainText, await stat(own));
        created.push(path);
      } catch (error) {
        throw notWritten(path, error);
      }
    },
    load,
  };
}

/** `what` is the file, in quotes. */
function notRead(what: string, cause?: unknown): DriverError {
  const reason = cause === undefined ? '' : `: ${describeFault(cause)}`;
  return new DriverError(
    'not_permitted',
    `${what} cannot be read${reason}.`,
    'Run the command on the host of the name server, as a user who can read and write these files.',
    cause,
  );
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
