import { ServiceError } from '../domain/errors.ts';
import type { Reader, Store, Writer } from '../domain/ports.ts';
import type { ResourceType, Row } from '../domain/resource.ts';
import type { Database, Sql, SqlValue } from './sql.ts';
import { tableOf, type Table } from './table.ts';

type TableFor = (type: ResourceType) => Table;

/** The domain's store on an open database whose schema is up to date. */
export function createStore(database: Database): Store {
  const tables = new Map<ResourceType, Table>();
  const tableFor: TableFor = (type) => {
    const known = tables.get(type) ?? tableOf(type, database.dialect);
    tables.set(type, known);
    return known;
  };
  return {
    ...readerOn(database.reads, tableFor),
    write: (work) => database.write((sql) => work(writerOn(sql, tableFor, database))),
    async ping() {
      await database.reads.all('SELECT number FROM schema_migrations LIMIT 1', []);
    },
    close: () => database.close(),
  };
}

function readerOn(sql: Sql, tableFor: TableFor): Reader {
  const one = async (table: Table, statement: string, value: string): Promise<Row | undefined> => {
    const [row] = await sql.all(statement, [value]);
    return row === undefined ? undefined : table.decode(row);
  };
  return {
    get(type, id) {
      const table = tableFor(type);
      return one(table, table.get, id);
    },
    find(type, column, value) {
      const table = tableFor(type);
      return one(table, table.find(column), value);
    },
    async list(type, query) {
      const table = tableFor(type);
      const { text, parameters } = table.list(query);
      return (await sql.all(text, parameters)).map((row) => table.decode(row));
    },
    async count(type) {
      const [row] = await sql.all(tableFor(type).count, []);
      return Number(row?.count);
    },
  };
}

function writerOn(sql: Sql, tableFor: TableFor, database: Database): Writer {
  const change = async (type: ResourceType, statement: string, parameters: SqlValue[]): Promise<number> => {
    try {
      return await sql.run(statement, parameters);
    } catch (cause) {
      if (!database.dialect.isUniqueViolation(cause)) throw cause;
      throw new ServiceError('duplicate', `Duplicate ${type.title}`, { subject: type.noun, cause });
    }
  };
  return {
    ...readerOn(sql, tableFor),
    async insert(type, row) {
      const table = tableFor(type);
      await change(type, table.insert, table.encode(row));
    },
    async replace(type, row) {
      const table = tableFor(type);
      await change(type, table.replace, [...table.encode(row), row.id as string]);
    },
    async remove(type, id) {
      return (await change(type, tableFor(type).remove, [id])) > 0;
    },
  };
}
