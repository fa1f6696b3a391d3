import { ServiceError } from '../domain/errors.ts';
import { migration as m0001 } from './migrations/0001-tlds-tsigkeys-tokens.ts';
import { migration as m0002 } from './migrations/0002-zones-pools.ts';
import type { Database, Migration } from './sql.ts';

/** Every step, in order. */
export const MIGRATIONS: readonly Migration[] = [m0001, m0002];

/**
 * Brings the schema to the newest step, in one transaction. `now` is recorded with each step.
 * Throws `unavailable` when the database has been used by a newer program than this one.
 */
export async function migrate(database: Database, now: string): Promise<void> {
  const { text } = database.dialect;
  await database.migrate(async (sql) => {
    await sql.run(`CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER NOT NULL PRIMARY KEY, applied_at ${text} NOT NULL)`, []);
    const row = await sql.one('SELECT coalesce(max(number), 0) AS newest FROM schema_migrations', []);
    const applied = Number(row?.newest);
    const newest = MIGRATIONS.at(-1)?.number ?? 0;
    if (applied > newest) {
      throw new ServiceError(
        'unavailable',
        `The database has schema ${applied}, this program knows ${newest} at most: start the newer program, or restore a backup made before the upgrade`,
      );
    }
    for (const migration of MIGRATIONS.filter(({ number }) => number > applied)) {
      for (const statement of migration.statements(database.dialect, now)) await sql.run(statement, []);
      await sql.run('INSERT INTO schema_migrations (number, applied_at) VALUES (?, ?)', [migration.number, now]);
    }
  });
}
