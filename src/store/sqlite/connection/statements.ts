import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Sql, SqlRow, SqlValue } from '../../sql/sql.ts';

/** The maximum number of cached prepared statements per connection. A full cache is cleared. */
const MAX_STATEMENTS = 500;

/**
 * Creates an `Sql` that runs statements on `connection` with `run`. `run` translates errors, and
 * may repeat a statement that failed due to a lock.
 */
export function sqlOn(
  connection: DatabaseSyncInstance,
  run: <T>(work: () => T) => T | Promise<T>,
): Sql {
  const change = cachedByText((text) => connection.prepare(text));
  const row = cachedByText((text) => prepareRow(connection, text));
  const page = cachedByText((text) => preparePage(connection, text));
  return {
    all: async (text, parameters) => run(() => page(text)(parameters)),
    one: async (text, parameters) => run(() => row(text)(parameters)),
    run: async (text, parameters) => run(() => change(text).run(...parameters).changes),
  };
}

/** Returns a function that calls `prepare` once for each statement text. */
export function cachedByText<T>(prepare: (text: string) => T): (text: string) => T {
  const statements = new Map<string, T>();
  return (text) => {
    const cached = statements.get(text);
    if (cached !== undefined) return cached;
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement = prepare(text);
    statements.set(text, statement);
    return statement;
  };
}

function prepareRow(
  connection: DatabaseSyncInstance,
  text: string,
): (parameters: readonly SqlValue[]) => SqlRow | undefined {
  const statement = connection.prepare(text);
  const columns = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  return (parameters) => {
    const row: unknown = statement.get(...parameters);
    return Array.isArray(row) ? rowOf(columns, row) : undefined;
  };
}

/**
 * Prepares a query. SQLite returns all rows of a SELECT as one JSON text. Creating and parsing this
 * text takes less than half the time of returning every value separately. JSON represents all
 * values of columns exactly, because the values are text, integers or null.
 */
function preparePage(
  connection: DatabaseSyncInstance,
  text: string,
): (parameters: readonly SqlValue[]) => SqlRow[] {
  const plain = connection.prepare(text);
  if (!text.startsWith('SELECT')) return (parameters) => plain.all(...parameters) as SqlRow[];
  const columns = plain.columns().map(({ name }) => name);
  const values = columns.map((name) => `"${name}"`).join(', ');
  const statement = connection.prepare(
    `SELECT json_group_array(json_array(${values})) AS page FROM (${text})`,
  );
  return (parameters) => {
    const { page } = statement.get(...parameters) as { page: string };
    return (JSON.parse(page) as unknown[][]).map((row) => rowOf(columns, row));
  };
}

export function rowOf(columns: readonly string[], values: readonly unknown[]): SqlRow {
  const row: SqlRow = {};
  for (let index = 0; index < columns.length; index += 1)
    row[columns[index] as string] = values[index];
  return row;
}
