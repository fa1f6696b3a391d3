import pg from 'pg';
import { ServiceError } from '../../core/errors.ts';
import { codeOf } from '../../net/faults.ts';

/** An error of an SQL statement, without the values of rows. */
interface StatementError extends Error {
  /** The SQLSTATE (PostgreSQL documentation, appendix A). */
  readonly code: string;
}

/** SQLSTATE codes after which a transaction should be retried: serialisation failure, deadlock. */
const TRY_AGAIN = ['40001', '40P01'];

/**
 * SQLSTATE classes and codes for a fault of the machine or the connection, not of the program.
 * Faults of the connection are connection errors, wrong passwords, missing databases and operator
 * intervention. Faults of the machine are missing resources, system errors, lock timeouts, and a
 * server that became a read-only standby.
 */
const MACHINE_FAULTS = /^(?:08|28|3D|53|57|58|55P03|25006|XX001|XX002)/;

const REASONS: Readonly<Record<string, string>> = {
  '28000': 'it rejects the user',
  '28P01': 'it rejects the password',
  '3D000': 'it does not exist',
  '53100': 'its disk is full',
  '53300': 'it has too many connections',
  '57014': 'a query took too long',
  '25006': 'it is a standby and accepts no changes',
};

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

export function isReferenceViolation(error: unknown): boolean {
  return codeOf(error) === '23503';
}

export function isCollision(error: unknown): boolean {
  return TRY_AGAIN.includes(codeOf(error));
}

/** Returns `unavailable` for a fault of machine, connection or pool, else a `StatementError`. */
export function translate(error: unknown): Error {
  if (!(error instanceof pg.DatabaseError)) return unavailable(undefined, error);
  const cause = withoutValues(error);
  return MACHINE_FAULTS.test(cause.code) ? unavailable(REASONS[cause.code], cause) : cause;
}

function unavailable(reason: string | undefined, cause: unknown): ServiceError {
  return new ServiceError(
    'unavailable',
    `The database cannot be used: ${reason ?? 'it does not respond'}`,
    { retryAfterSeconds: 5, cause },
  );
}

/**
 * Returns the parts of a server error that may be logged. The parts are the code, the message, and
 * the names of table, column and constraint. DETAIL, WHERE and similar members can quote rows with
 * secrets. Messages of data exceptions (class 22) quote values after a colon.
 */
function withoutValues({
  code = '',
  message,
  schema,
  table,
  column,
  constraint,
  routine,
}: pg.DatabaseError): StatementError {
  const safeMessage = code.startsWith('22') ? message.replace(/:.*/s, '') : message;
  return Object.assign(new Error(safeMessage), {
    code,
    schema,
    table,
    column,
    constraint,
    routine,
  });
}
