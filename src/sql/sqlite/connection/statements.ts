import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { Sql, SqlRow, SqlValue } from '../../sql.ts';

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

type Read<Result> = (parameters: readonly SqlValue[]) => Result;

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

/**
 * Prepares a query of one row, or none. SQLite returns the row as one JSON text, which takes less
 * time than returning every value separately. JSON represents all values of columns exactly,
 * because the values are text, integers or null.
 */
function prepareRow(connection: DatabaseSyncInstance, text: string): Read<SqlRow | undefined> {
  const plain = connection.prepare(text);
  if (!text.startsWith('SELECT'))
    return (parameters) => plain.get(...parameters) as SqlRow | undefined;
  const columns = columnsOf(plain);
  const statement = connection.prepare(`SELECT ${arrayOf(columns)} FROM (${text})`);
  statement.setReturnArrays(true);
  return (parameters) => {
    const row = statement.get(...parameters) as [string] | undefined;
    return row === undefined ? undefined : rowOf(columns, JSON.parse(row[0]) as unknown[]);
  };
}

/** Prepares a query. SQLite returns all rows of a SELECT as one JSON text, as for one row. */
function preparePage(connection: DatabaseSyncInstance, text: string): Read<SqlRow[]> {
  const plain = connection.prepare(text);
  if (!text.startsWith('SELECT')) return (parameters) => plain.all(...parameters) as SqlRow[];
  const columns = columnsOf(plain);
  const statement = connection.prepare(
    `SELECT json_group_array(${arrayOf(columns)}) AS page FROM (${text})`,
  );
  return (parameters) => {
    const { page } = statement.get(...parameters) as { page: string };
    return (JSON.parse(page) as unknown[][]).map((row) => rowOf(columns, row));
  };
}

function columnsOf(statement: StatementSyncInstance): string[] {
  return statement.columns().map(({ name }) => name);
}

function arrayOf(columns: readonly string[]): string {
  return `json_array(${columns.map((name) => `"${name}"`).join(', ')})`;
}

export function rowOf(columns: readonly string[], values: readonly unknown[]): SqlRow {
  const row: SqlRow = {};
  for (let index = 0; index < columns.length; index += 1)
    row[columns[index] as string] = values[index];
  return row;
}
