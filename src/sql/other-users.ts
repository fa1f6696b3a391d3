import { ServiceError } from '../core/errors.ts';
import type { Snapshot } from './sql.ts';

/**
 * Throws `unavailable` if another process of the service uses the database. Only a command that
 * runs one statement after another may call this function, because its other connections count.
 */
export async function assertUnused({
  dialect,
  reads,
}: Pick<Snapshot, 'dialect' | 'reads'>): Promise<void> {
  const row = dialect.otherUser === undefined ? undefined : await reads.one(dialect.otherUser, []);
  if (row === undefined) return;
  throw new ServiceError(
    'unavailable',
    `A process on '${String(row.host)}' uses the database. Stop the service and repeat the command`,
  );
}
