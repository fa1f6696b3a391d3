import { asError, ServiceError } from '../../../core/errors.ts';
import { codeOf, messageOf } from '../../../net/faults.ts';

const BUSY = 5;
const FULL = 13;
const CONSTRAINT_FOREIGNKEY = 787;
const CONSTRAINT_PRIMARYKEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** Primary result codes for a fault of the machine (https://www.sqlite.org/rescode.html). */
const MACHINE_FAULTS: Readonly<Record<number, string>> = {
  [BUSY]: 'it is locked by another program',
  6: 'it is locked',
  7: 'memory ran out',
  8: 'it cannot be written (read-only file or file system)',
  10: 'reading or writing the file failed',
  11: 'the file is damaged; restore a backup',
  [FULL]: 'the disk is full',
  14: 'the file cannot be opened',
  15: 'its locks do not work on this file system',
  26: 'the file is not a SQLite database',
};

/** Returns whether `error` occurred because another connection holds a lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

export function isUniqueViolation(error: unknown): boolean {
  return [CONSTRAINT_PRIMARYKEY, CONSTRAINT_UNIQUE].includes(resultCode(error));
}

export function isReferenceViolation(error: unknown): boolean {
  return resultCode(error) === CONSTRAINT_FOREIGNKEY;
}

export function isFull(error: unknown): boolean {
  return primaryCode(error) === FULL;
}

function primaryCode(error: unknown): number {
  return resultCode(error) & 0xff;
}

function resultCode(error: unknown): number {
  const hasCode = error instanceof Error && 'errcode' in error;
  return hasCode && typeof error.errcode === 'number' ? error.errcode : 0;
}

/** Only a fault of the machine makes a row unreadable. The driver then returns no result code. */
function isReadFault(error: unknown): boolean {
  return codeOf(error) === 'ERR_SQLITE_ERROR' && resultCode(error) === 0;
}

/** Returns `unavailable` for a fault of the machine, and any other error unchanged. */
export function translate(error: unknown, path: string): Error {
  const fault =
    MACHINE_FAULTS[primaryCode(error)] ??
    (isReadFault(error) ? 'reading the file failed; it may be damaged' : undefined);
  if (fault === undefined) return asError(error);
  return new ServiceError('unavailable', `The database cannot be used: ${fault}`, {
    retryAfterSeconds: 5,
    cause: new Error(`${path}: ${messageOf(error)}`, { cause: error }),
  });
}
