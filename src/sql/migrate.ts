import { ServiceError } from '../core/errors.ts';
import { migration as m0018 } from './migrations/0018-schema.ts';
import type { Database, Migration } from './sql.ts';

/** All schema steps, in order. Lower numbers were steps of development versions. */
export const MIGRATIONS: readonly Migration[] = [m0018];

export const NEWEST_SCHEMA = Math.max(...MIGRATIONS.map(({ number }) => number));

/** Returns the newest step that was applied, or undefined for a database without a schema. */
export async function schemaOf({
  dialect,
  reads,
}: Pick<Database, 'dialect' | 'reads'>): Promise<number | undefined> {
  const table = await reads.one(dialect.tableExists, ['schema_migrations']);
  const row = table && (await reads.one('SELECT max(number) AS newest FROM schema_migrations', []));
  return typeof row?.newest === 'number' ? row.newest : undefined;
}

/**
 * Returns why this version cannot use a database with `schema`, and what to do, in sentences that
 * lack only their subject. Returns undefined if this version can use or update the database.
 */
export function schemaProblem(schema: number): string | undefined {
  if (schema < Math.min(...MIGRATIONS.map(({ number }) => number)))
    return `was made by a development version (schema ${schema}), and this version cannot update it. Use a new database, and import into it what a service of that version lists: tsigil tld list -f json, tsigil tsigkey list --reveal -f json.`;
  if (schema > NEWEST_SCHEMA)
    return `has schema ${schema}, but this version supports only schemas up to ${NEWEST_SCHEMA}. Start the newer version, or restore a backup from before the upgrade.`;
  return undefined;
}

/**
 * Returns the number of the newest applied schema step, or 0 for a database without a schema.
 * Throws `unavailable` if this version cannot use or update the database.
 */
export async function assertSchema(database: Pick<Database, 'dialect' | 'reads'>): Promise<number> {
  const schema = await schemaOf(database);
  const problem = schema === undefined ? undefined : schemaProblem(schema);
  if (problem !== undefined) throw new ServiceError('unavailable', `The database ${problem}`);
  return schema ?? 0;
}

/**
 * Updates the schema to the newest step, in one transaction. Records each step with the timestamp
 * `now`. Returns the numbers of the applied steps. Throws `unavailable` if this version cannot use
 * the schema.
 */
export async function migrate(database: Database, now: string): Promise<number[]> {
  const steps: number[] = [];
  const { text } = database.dialect;
  await database.migrate(async (sql) => {
    await sql.run(
      `CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER NOT NULL PRIMARY KEY, applied_at ${text} NOT NULL)`,
      [],
    );
    const applied = await assertSchema({ dialect: database.dialect, reads: sql });
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
