import type { Edit, Source } from '../../brands/rewrite.ts';
import type { IncludedFile } from '../../formats/reader.ts';
import type { ServerReader } from '../../keys/commands/key-file.ts';

/** What the files of a name server of this machine say, and what edits them. They contain secrets. */
export interface EditableFiles {
  /** The import format of the configuration. */
  readonly format: string;
  readonly source: Source;
  /** Tsigil's file. Its text is empty if it does not exist. */
  readonly own: IncludedFile;
  /** The text of Tsigil's file without what makes it Tsigil's. */
  readonly plain: string;
  readonly includesOwn: boolean;
  /** The texts of the main file and of those that it includes, by path, except Tsigil's file. */
  readonly texts: ReadonlyMap<string, string>;
  /** Where an earlier run has kept former files that differ from these, by path. */
  readonly formerFiles: ReadonlyMap<string, string>;
  /**
   * Returns the edits that include another file instead of one, or none if no file includes it.
   * Throws `KeyFileError` if only a pattern or a folder includes it.
   */
  includeEdits(from: string, to: string): readonly Edit[];
  readonly editor: FileEditor;
}

/** Edits the files of a name server, and takes back what it has edited. */
export interface FileEditor {
  /** Returns what the server's own program finds in a configuration, or undefined. */
  check(source: Source): Promise<string | undefined>;
  /** Replaces each file with edits, and keeps the former one. */
  write(edits: readonly Edit[]): Promise<void>;
  undo(): Promise<void>;
  /** Lets only the owner read the former files that `write` has kept, and returns their paths. */
  seal(): Promise<readonly string[]>;
  /** Writes Tsigil's file as one of the operator, which `undo` removes. */
  create(file: IncludedFile): Promise<void>;
  /** Removes a file that `create` wrote, if it exists. */
  remove(path: string): Promise<void>;
  /** Makes the server read its configuration again. */
  load(): Promise<void>;
}

/**
 * Opens the files of a name server of this machine, or returns undefined for a server that stores its
 * keys in a database. `config` is the configuration file of the service, or of the agent of the name
 * server. The functions of the result throw `CommandError`. Throws `CommandError`.
 */
export type OpenFiles = (
  config: string | undefined,
  name: string,
) => Promise<EditableFiles | undefined>;

export interface FileOpener extends ServerReader {
  readonly openFiles: OpenFiles;
}
