import { ACCESS_READERS } from '../../brands/access-readers.ts';
import { differencesAfter, editedSource, type Edit, type Source } from '../../brands/rewrite.ts';
import { placeOf, type IncludedFile } from '../../formats/reader.ts';
import { IMPORT_FORMATS } from '../../formats/readers.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { faultOf } from '../../net/faults.ts';
import type { Observed } from './plan.ts';
import { explaining } from '../../keys/commands/key-file.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { unifiedDiff, withoutSecrets } from './diff.ts';
import { catchInterrupt, type Terminal } from '../../cli/output/terminal.ts';
import type { EditableFiles } from './editable-files.ts';
import { assertNotStopped, print, SHOWN, type Run } from './server-run.ts';

export interface Change {
  readonly edits: readonly Edit[];
  /** The file of keys and lists that the configuration includes afterwards. */
  readonly included: IncludedFile;
}

/** Returns the keys and access lists of a configuration. Throws `CommandError`. */
export function parsed(format: string, { text, include, path }: Source) {
  return parsing(() => {
    const configuration = ACCESS_READERS[format]?.(text, include, path);
    const entries = IMPORT_FORMATS[format]?.read(text, include, path);
    if (configuration === undefined || entries === undefined)
      throw new TypeError(`No reader of access lists is named '${format}'`);
    const keys = entries.map((found) => ({
      place: found.file === undefined ? `${path}:${found.line}` : placeOf(found),
      found,
    }));
    return { configuration, keys };
  });
}

export function parsing<T>(work: () => T): T {
  return explaining(
    (problem) => `The configuration cannot be edited: ${problem}. Nothing was changed.`,
    work,
  );
}

/** The file of the operator to which the keys of Tsigil's file go back. */
export function releasedPath({ path }: IncludedFile): string {
  return `${path}.released`;
}

/** Proves the edits, and prints them without secrets. Throws `CommandError` if they change a right. */
export async function propose(
  files: EditableFiles,
  { edits, included }: Change,
  { keys }: Pick<Observed, 'keys'>,
  terminal: Terminal,
): Promise<void> {
  const { source, texts } = files;
  const differences = parsing(() => differencesAfter(files.format, source, edits, included));
  if (differences.length > 0)
    throw new CommandError(
      EXIT.refused,
      'The edits would change what the configuration permits, so nothing was changed',
      firstOf(differences, SHOWN, String).join('\n'),
    );
  const mask = maskOf(keys.map(({ secret }) => secret));
  // The check has a file with secrets, which it removes.
  const { signal, release } = catchInterrupt(terminal);
  const problem = await files.editor.check(editedSource(source, edits, included)).finally(release);
  assertNotStopped(signal);
  if (problem !== undefined)
    throw new CommandError(
      EXIT.refused,
      'The name server refuses the configuration with these edits, so nothing was changed',
      mask(problem).trim().split('\n').slice(0, SHOWN).join('\n'),
    );
  const paths = new Set(edits.map(({ file }) => file));
  for (const path of paths) {
    const own = edits.filter(({ file }) => file === path);
    print(mask(unifiedDiff(path, texts.get(path) ?? '', own)).trimEnd(), terminal);
  }
}

function maskOf(secrets: readonly string[]): (text: string) => string {
  return (text) =>
    withoutSecrets(secrets.reduce((masked, secret) => masked.replaceAll(secret, '...'), text));
}

/** Applies edits, and loads them. Puts the former files back if a step fails. */
export async function perform(
  { server, terminal }: Run,
  files: EditableFiles,
  { edits }: Change,
  verified: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal, release } = catchInterrupt(terminal);
  try {
    await files.editor.write(edits);
    try {
      await files.editor.load();
      await verified(signal);
      assertNotStopped(signal);
    } catch (cause) {
      const undone = await files.editor.undo().then(
        () => `The former files of '${server.name}' are back`,
        (error: unknown) =>
          `Not all former files of '${server.name}' are back (${faultOf(error).message})`,
      );
      const outcome = await files.editor.load().then(
        () => 'and loaded',
        (error: unknown) => `but it does not load them (${faultOf(error).message})`,
      );
      if (!(cause instanceof CommandError)) throw cause;
      throw new CommandError(
        cause.exitCode,
        `${undone}, ${outcome}: ${cause.message}`,
        cause.hint,
        cause,
      );
    }
  } finally {
    release();
  }
}

export async function reportKept(files: EditableFiles, terminal: Terminal): Promise<void> {
  const kept = await files.editor.seal();
  if (kept.length === 0) return;
  print(
    [
      'Your former files are still here, with their secrets. Once everything works, delete them:',
      ...kept.map((path) => `  ${path}`),
    ].join('\n'),
    terminal,
  );
}
