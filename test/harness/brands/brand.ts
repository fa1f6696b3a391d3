import { readFileSync, writeFileSync } from 'node:fs';
import type { BrandName } from '../../../src/brands/brands.ts';
import type { DrivenServer, ServerRecipe } from '../driven-server.ts';

/** A name server program, with the options of its driver. */
export interface Brand extends ServerRecipe {
  /** The name of the driver. */
  readonly driver: BrandName;
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
  /** The file that the driver writes. Absent for PowerDNS. */
  readonly include?: IncludedFile;
}

/** A server's main configuration, and the file of the driver that it includes. */
export interface IncludedFile {
  /** The paths of the file and of the main configuration, relative to the folder of the server. */
  readonly file: string;
  readonly main: string;
  /** Removes the include statement from the main configuration, which stays valid. */
  withoutInclude(text: string): string;
}

/** Changes a file as an operator would. Throws if `edit` changes nothing. */
export function editFile(file: string, edit: (text: string) => string): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const edited = edit(text);
  if (edited === text) throw new Error(`The edit of ${file} changes nothing`);
  writeFileSync(file, edited);
  return Promise.resolve();
}
