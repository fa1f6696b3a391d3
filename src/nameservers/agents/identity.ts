import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { asError } from '../../domain/model/errors.ts';
import { isObject } from '../../domain/model/field.ts';
import { codeOf, describeFault } from '../../net/faults.ts';
import { readWholeFile } from '../../net/files.ts';
import { writeSyncedFile } from '../../net/synced-file.ts';

/**
 * Linux changes this id at each boot. A machine with a copy of the disk therefore has another id.
 */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** The maximum length of the name. */
const MAX_NAME = 64;

/** The name by which the service knows an agent. */
export interface Identity {
  readonly agent: string;
  /** Why the agent gets another name at its next start. Absent if the name stays the same. */
  readonly problem?: string;
}

/**
 * Returns a name that no other running agent has: the host name and a random id. The id is in
 * `file`, so that the agent gets its lease back after a restart. `lock` locks this file until the
 * process ends, and throws if another process has locked it. An agent that cannot lock the file, or
 * that runs from a copy of the disk, gets another id.
 */
export function identify(host: string, file: string, lock: (file: string) => void): Identity {
  try {
    lock(file);
    return { agent: nameOf(host, storedId(file)) };
  } catch (error) {
    const problem = describeFault(asError(asError(error).cause ?? error));
    return { agent: nameOf(host, newId()), problem };
  }
}

function nameOf(host: string, id: string): string {
  return `${host.slice(0, MAX_NAME - id.length - 1)}-${id}`;
}

/**
 * Returns the id in a file. If there is none, stores and returns a new id. Throws Node's errors.
 */
function storedId(file: string): string {
  const boot = bootId();
  const stored = readJson(file);
  if (
    isObject(stored) &&
    stored.boot === boot &&
    typeof stored.id === 'string' &&
    /^[0-9a-f]{12}$/.test(stored.id)
  )
    return stored.id;
  const id = newId();
  writeSyncedFile(file, `${JSON.stringify({ id, boot })}\n`);
  return id;
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readWholeFile(file).toString());
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function bootId(): string {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return ''; // only Linux has this file
  }
}

function newId(): string {
  return randomBytes(6).toString('hex');
}
