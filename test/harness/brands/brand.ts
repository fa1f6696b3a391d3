import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BrandName } from '../../../src/brands/brands.ts';
import type { Key } from '../../../src/formats/key.ts';
import type { DrivenServer, ServerRecipe } from '../driven-server.ts';

/** A name server program, with the options of its driver. */
export interface Brand extends ServerRecipe {
  /** The name of the driver. */
  readonly driver: BrandName;
  /** The name of the main configuration file. */
  readonly main: string;
  /** Returns whether the program is installed, as `hasProgram` does. */
  isInstalled(): boolean;
  /** Returns the driver's options for a server. */
  options(server: Pick<DrivenServer, 'folder' | 'controlPort'>): Record<string, unknown>;
  /**
   * Returns options with a control key that the server refuses. Undefined if the server needs no
   * control key.
   */
  wrongKey?(server: DrivenServer): Record<string, unknown>;
  /** Removes one key and changes the secret of another on the server, as an operator would. */
  edit(server: DrivenServer, removed: string, changed: string): Promise<void>;
  /** The name of a key in the server's configuration that the driver does not manage. */
  readonly foreign: string;
  /** Set if a server drops some requests while it reads its configuration, so that clients try again. */
  readonly dropsRequests?: true;
  /** Adds to the main configuration what makes the log show the use of keys. */
  logUses(text: string): string;
  /** Adds to the main configuration what makes a server notify a secondary server at `port`. */
  notifyAt(text: string, port: number, folder: string): string;
  /** Makes a server notify its secondary servers of a zone. */
  notify(server: Pick<DrivenServer, 'folder' | 'controlPort'>, zone: string): Promise<unknown>;
  /** After `configure`, puts an operator's keys and lists in the place of Tsigil's. */
  replaceByHand(folder: string, hand: ByHand): void;
  /** The file that the driver writes. Absent for PowerDNS. */
  readonly include?: IncludedFile;
}

/** A server's main configuration, and the file of the driver that it includes. */
export interface IncludedFile {
  /** The path of the file, relative to the folder of the server. */
  readonly file: string;
  /** Removes the include statement from the main configuration, which stays valid. */
  withoutInclude(text: string): string;
  /** Returns a statement that includes a file. */
  statement(path: string): string;
  readonly checker: Checker;
  /** Makes a server load its configuration. */
  reload(server: DrivenServer): unknown;
  /** Returns keys and lists, the members of each by its name, as the driver writes them. */
  write(keys: readonly Key[], lists: ReadonlyMap<string, readonly string[]>): string;
  /** Lets a key transfer and update all zones. `text` has the lists without a member. */
  grant(text: string, key: string): string;
}

/** A program that checks a configuration. */
export interface Checker {
  readonly program: string;
  /** Its Debian package. */
  readonly debian: string;
  readonly parameters: (file: string) => string[];
}

/** What an operator has made. */
export interface ByHand {
  readonly zones: readonly string[];
  readonly keys: readonly Key[];
  /** The names of most keys. */
  readonly many: readonly string[];
}

export const execute = promisify(execFile);

/** Changes a file as an operator would. Throws if `edit` changes nothing. */
export function editFile(file: string, edit: (text: string) => string): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const edited = edit(text);
  if (edited === text) throw new Error(`The edit of ${file} changes nothing`);
  writeFileSync(file, edited);
  return Promise.resolve();
}

/** Changes the main configuration of a server. */
export function editMain(
  { main }: Pick<Brand, 'main'>,
  folder: string,
  edit: (text: string) => string,
) {
  const file = join(folder, main);
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
}
