import { readFileSync, writeFileSync } from 'node:fs';
import type { DrivenServer, ServerRecipe } from '../driven-server.ts';

/** A name server program, and how the driver for it reaches it. */
export interface Brand extends ServerRecipe {
  /** The name of the driver. */
  readonly driver: string;
  readonly installed: boolean;
  /** The options of the driver for a server. */
  options(server: Pick<DrivenServer, 'folder' | 'controlPort'>): Record<string, unknown>;
  /** Options with which the server refuses the control key, or undefined if it has none. */
  wrongKey?(server: DrivenServer): Record<string, unknown>;
  /** Removes a key and changes a secret on the server, as an operator would. */
  edit(server: DrivenServer, removed: string, changed: string): Promise<void>;
  /** The name of a key that the server has in its configuration. */
  readonly foreign: string;
  /** The file that the driver writes. Absent for PowerDNS. */
  readonly include?: IncludedFile;
}

/** The parts of a configuration that includes the file of a driver. */
export interface IncludedFile {
  /** The path of the file, and of the main configuration, from the folder of the server. */
  readonly file: string;
  readonly main: string;
  /** Returns a valid main configuration without the include statement. */
  withoutInclude(text: string): string;
}

/** Changes a file as an operator would. */
export function editFile(file: string, edit: (text: string) => string): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const edited = edit(text);
  if (edited === text) throw new Error(`The edit of ${file} changes nothing`);
  writeFileSync(file, edited);
  return Promise.resolve();
}
