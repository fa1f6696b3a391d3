import { ServiceError } from '../domain/model/errors.ts';
import { migration as m0001 } from './migrations/0001-tlds-tsigkeys-tokens.ts';
import { migration as m0002 } from './migrations/0002-zones-pools.ts';
import { migration as m0003 } from './migrations/0003-name-order.ts';
import { migration as m0004 } from './migrations/0004-setting-defaults.ts';
import { migration as m0005 } from './migrations/0005-data-keys.ts';
import { migration as m0006 } from './migrations/0006-token-creators.ts';
import { migration as m0007 } from './migrations/0007-lost-secrets.ts';
import { migration as m0008 } from './migrations/0008-audit.ts';
import { migration as m0009 } from './migrations/0009-name-servers.ts';
import { migration as m0010 } from './migrations/0010-token-limits.ts';
import { migration as m0011 } from './migrations/0011-agents.ts';
import { migration as m0012 } from './migrations/0012-audit-index.ts';
import type { Database, Migration } from './sql/sql.ts';

/** All schema steps, in order. */
export const MIGRATIONS: readonly Migration[] = [
  m0001,
  m0002,
  m0003,
  m0004,
  m0005,
  m0006,
  m0007,
  m0008,
  m0009,
  m0010,
  m0011,
  m0012,
];

/** The number of the newest schema step in this version. */
export const NEWEST_SCHEMA = Math.max(...MIGRATIONS.map(({ number }) => number));

/**
 * Returns the number of the newest schema step that was applied to a database. Returns undefined
 * for a database without a schema.
 */
export async function schemaOf({
  dialect,
  reads,
}: Pick<Database, 'dialect' | 'reads'>): Promise<number | undefined> {
  const table = await reads.one(dialect.tableExists, ['schema_migrations']);
  const row = table && (await reads.one('SELECT max(number) AS newest FROM schema_migrations', []));
  return typeof row?.newest === 'number' ? row.newest : undefined;
}

/**
 * Updates the schema to the newest step, in one transaction. Records each step with the timestamp
 * `now`. Returns the numbers of the applied steps. Throws `unavailable` if the schema is newer than
 * this version supports.
 */
export async function migrate(database: Database, now: string): Promise<number[]> {
  const steps: number[] = [];
  const { text } = database.dialect;
  await database.migrate(async (sql) => {
    await sql.run(
      `CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER NOT NULL PRIMARY KEY, applied_at ${text} NOT NULL)`,
      [],
    );
    const row = await sql.one(
      'SELECT coalesce(max(number), 0) AS newest FROM schema_migrations',
      [],
    );
    const applied = Number(row?.newest);
    if (applied > NEWEST_SCHEMA) {
      throw new ServiceError(
        'unavailable',
        `The database has schema ${applied}, but this version supports only schemas up to ${NEWEST_SCHEMA}. Start the newer version, or restore a backup from before the upgrade.`,
      );
    }
    for (const migration of MIGRATIONS.filter(({ number }) => number > applied)) {
      for (const statement of migration.statements(database.dialect, now))
        await sql.run(statement, []);
      await sql.run('INSERT INTO schema_migrations (number, applied_at) VALUES (?, ?)', [
        migration.number,
        now,
      ]);
      steps.push(migration.number);
    }
  });
  return steps;
}
