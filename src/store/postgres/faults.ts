import pg from 'pg';
import { ServiceError } from '../../domain/model/errors.ts';

/** A statement that the server refused, without the values it was about. */
export interface StatementError extends Error {
  /** The SQLSTATE (PostgreSQL documentation, appendix A). */
  readonly code: string;
}

/** SQLSTATE codes by which PostgreSQL asks for the transaction to be run again: serialisation failure, deadlock. */
const TRY_AGAIN = ['40001', '40P01'];

/**
 * SQLSTATE classes and codes that name a fault of the machine or the connection, not of the program: connections,
 * passwords, databases that do not exist, resources, operator intervention, system errors, lock time-outs, and a server that became a read-only standby.
 */
const MACHINE_FAULTS = /^(?:08|28|3D|53|57|58|55P03|25006|XX001|XX002)/;

const REASONS: Readonly<Record<string, string>> = {
  '28000': 'it does not let the user in',
  '28P01': 'it does not take the password',
  '3D000': 'it does not exist',
  '53100': 'its disk is full',
  '53300': 'it has too many connections',
  '57014': 'it took too long',
  '25006': 'it takes no changes, being a standby',
};

/** Tells whether a unique index refused a row. */
export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** Tells whether the transaction in which `error` occurred should be run again. */
export function isCollision(error: unknown): boolean {
  return TRY_AGAIN.includes(codeOf(error));
}

/** Faults of the machine, the connection and the pool as `unavailable`; anything else that the server says as a `StatementError`. */
export function translate(error: unknown): Error {
  const cause = error instanceof pg.DatabaseError ? withoutValues(error) : error;
  if (error instanceof pg.DatabaseError && !MACHINE_FAULTS.test(error.code ?? '')) return cause as StatementError;
  const reason = error instanceof pg.DatabaseError ? REASONS[error.code ?? ''] : undefined;
  return new ServiceError('unavailable', `The database cannot be used: ${reason ?? 'it does not answer'}`, { retryAfterSeconds: 5, cause });
}

/**
 * What may be logged of an error of the server: its code, its message, and the names of what it concerns. DETAIL, WHERE and
 * the like quote rows, and rows hold secrets. So do the messages of data exceptions (class 22), after a colon.
 */
function withoutValues({ code = '', message, schema, table, column, constraint, routine }: pg.DatabaseError): StatementError {
  const said = code.startsWith('22') ? message.replace(/:.*/s, '') : message;
  return Object.assign(new Error(said), { code, schema, table, column, constraint, routine });
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
