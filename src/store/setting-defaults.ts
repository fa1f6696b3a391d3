import type { Database, Snapshot } from './sql/sql.ts';

/**
 * Returns the default of `tsigkeys.strict` for a database. The default is false if the version that
 * created the database accepted any name and secret.
 */
export async function strictTsigkeysByDefault({
  reads,
}: Pick<Snapshot, 'reads'>): Promise<boolean> {
  const row = await reads.one('SELECT value FROM setting_defaults WHERE setting = ?', [
    'tsigkeys.strict',
  ]);
  return row?.value === 'true';
}

/** Sets the default of `tsigkeys.strict` for a database. A copy gets the default of its source. */
export async function setStrictTsigkeysByDefault(
  database: Pick<Database, 'write'>,
  strict: boolean,
): Promise<void> {
  await database.write((sql) =>
    sql.run('UPDATE setting_defaults SET value = ? WHERE setting = ?', [
      String(strict),
      'tsigkeys.strict',
    ]),
  );
}
