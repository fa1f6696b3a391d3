import { partsInSlices } from '../domain/scheduling/slicer.ts';
import { newSlicer } from './sql/reader.ts';
import type { Database } from './sql/sql.ts';

const TOKENS_AT_A_TIME = 256;

const NOTE_USE =
  'UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)';

/**
 * Sets `last_used_at` of the tokens in `uses`, unless the stored time is later than `before`.
 * Writes in the order of the ids, so that two processes cannot deadlock.
 */
export async function noteUses(
  database: Pick<Database, 'write'>,
  uses: ReadonlyMap<string, string>,
  before: string,
): Promise<void> {
  const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1));
  for await (const some of partsInSlices(sorted, newSlicer(), TOKENS_AT_A_TIME)) {
    await database.write(async (sql) => {
      for (const [id, at] of some) await sql.run(NOTE_USE, [at, id, before]);
    });
  }
}
