import type { Database, DatabaseObserver } from './sql.ts';
import { openSqlite } from './sqlite.ts';

/** Opens the database at `location`, which is what follows the scheme in the configuration. */
export type OpenDatabase = (location: string, observer: DatabaseObserver) => Promise<Database>;

/** The databases by the scheme that names them in the configuration: `sqlite:var/tsigil.db`. */
export const DATABASES: Readonly<Record<string, OpenDatabase>> = {
  sqlite: openSqlite,
};
