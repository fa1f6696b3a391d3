import { ServiceError } from '../core/errors.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { recordLocally } from '../audit/store/record-command.ts';
import { readMark, REMOVE_MARK } from '../sql/marks.ts';
import type { Database } from '../sql/sql.ts';

/**
 * Throws `unavailable` if a service must not use the database `name`, because it is an unfinished
 * copy or was copied to another database. With `again`, the latter becomes an ordinary database.
 */
export async function assertServable(
  database: Pick<Database, 'reads' | 'write'>,
  name: string,
  again: boolean,
  at: string,
): Promise<void> {
  const unfinished = await readMark(database.reads, 'target');
  if (unfinished !== undefined)
    throw new ServiceError(
      'unavailable',
      `The database '${name}' is an unfinished copy. To finish it, run: tsigil copy-database --from ${shellWord(unfinished.other)} --to ${shellWord(name)}`,
    );
  const copied = await readMark(database.reads, 'source');
  if (copied === undefined) return;
  if (!again)
    throw new ServiceError(
      'unavailable',
      `The database '${name}' was copied to '${copied.other}' at ${copied.at}. Two services would deliver different keys to the same name servers. Serve '${copied.other}'. To serve this database again instead, run: tsigil serve --again`,
    );
  await database.write(async (sql) => {
    await sql.run(REMOVE_MARK, ['source']);
  });
  await recordLocally(database, {
    action: 'database:serve-again',
    at,
    detail: { copied_to: copied.other, copied_at: copied.at },
  });
}
