import { ServiceError } from '../domain/errors.ts';
import type { Store, Writer } from '../domain/ports.ts';
import type { Fields, Reader, ResourceOf, ResourceType } from '../domain/resource.ts';
import type { Database, Dialect, Snapshot, Sql, SqlValue } from './sql.ts';
import { countStatement, existsStatement, MAX_VALUES, SIZES, tableOf, type Table } from './table.ts';

type TableFor = <F extends Fields>(type: ResourceType<F>) => Table<F>;

/** Reads on an open database whose schema is up to date. */
export function createReader({ dialect, reads }: Snapshot): Reader {
  return readerOn(reads, tablesFor(dialect), dialect);
}

/** The domain's store on an open database whose schema is up to date. */
export function createStore(database: Database): Store {
  const tableFor = tablesFor(database.dialect);
  const changes = new Map<ResourceType, number>();
  // The embedded database runs every write on the same connection: its readers are made once.
  const readers = new WeakMap<Sql, Reader>();
  const readerFor = (sql: Sql): Reader => {
    const reader = readers.get(sql) ?? readerOn(sql, tableFor, database.dialect);
    readers.set(sql, reader);
    return reader;
  };
  return {
    ...readerOn(database.reads, tableFor, database.dialect),
    async write(work) {
      const changed = new Set<ResourceType>();
      try {
        return await database.write((sql) => work(writerOn(readerFor(sql), sql, tableFor, database, changed)));
      } finally {
        // After the commit and before anybody is told of it: what was read in between must not be taken for the new state.
        for (const type of changed) changes.set(type, (changes.get(type) ?? 0) + 1);
      }
    },
    changes: (type) => changes.get(type) ?? 0,
    exclusive: database.exclusive,
    ping: () => database.ping(),
    close: () => database.close(),
  };
}

/** The tables of resource types, each made once. */
function tablesFor(dialect: Dialect): TableFor {
  const tables = new Map<ResourceType, unknown>();
  return <F extends Fields>(type: ResourceType<F>): Table<F> => {
    const known = tables.get(type) ?? tableOf(type, dialect);
    tables.set(type, known);
    return known as Table<F>; // the map holds each type's own table
  };
}

function readerOn(sql: Sql, tableFor: TableFor, dialect: Dialect): Reader {
  return {
    async get(type, id) {
      const table = tableFor(type);
      const row = await sql.one(table.get, [id]);
      return row === undefined ? undefined : table.decode(row);
    },
    async find<F extends Fields>(type: ResourceType<F>, column: string, values: readonly string[]) {
      const table = tableFor(type);
      const rows: ResourceOf<F>[] = [];
      for await (const some of parts(values, MAX_VALUES)) {
        const { text, parameters } = table.find(column, some);
        for (const row of await sql.all(text, parameters)) rows.push(table.decode(row));
      }
      return rows;
    },
    async present(type, column, values) {
      const table = tableFor(type);
      const found = new Set<string>();
      for (let start = 0; start < values.length; start += MAX_VALUES) {
        const { text, parameters } = table.present(column, values.slice(start, start + MAX_VALUES));
        for (const { value } of await sql.all(text, parameters)) found.add(value as string);
      }
      return found;
    },
    async list(type, query) {
      const table = tableFor(type);
      const { text, parameters, use } = table.list(query);
      return (await sql.all(text, parameters, use)).map((row) => table.decode(row));
    },
    async count(type, conditions) {
      const { text, parameters } = countStatement(type.collection, conditions, dialect);
      return Number((await sql.one(text, parameters))?.count);
    },
    async exists(type, conditions) {
      const { text, parameters } = existsStatement(type.collection, conditions, dialect);
      return (await sql.one(text, parameters)) !== undefined;
    },
  };
}

/** Reads with `reader`. Whatever it changes, it notes in `changed`. */
function writerOn(reader: Reader, sql: Sql, tableFor: TableFor, database: Database, changed: Set<ResourceType>): Writer {
  const change = async (type: ResourceType, statement: string, parameters: SqlValue[]): Promise<number> => {
    changed.add(type);
    try {
      return await sql.run(statement, parameters);
    } catch (cause) {
      if (!database.dialect.isUniqueViolation(cause)) throw cause;
      throw new ServiceError('duplicate', `Duplicate ${type.title}`, { subject: type.noun, cause });
    }
  };
  return {
    // One by one: a spread of the reader takes longer than all else that is done here for a write.
    get: reader.get,
    find: reader.find,
    present: reader.present,
    list: reader.list,
    count: reader.count,
    exists: reader.exists,
    async insert(type, row) {
      const table = tableFor(type);
      await change(type, table.insert, table.encode(row));
    },
    async replace(type, row) {
      const table = tableFor(type);
      await change(type, table.replace, [...table.encode(row), row.id]);
    },
    async remove(type, id) {
      return (await change(type, tableFor(type).remove, [id])) > 0;
    },
    async putAll(type, rows) {
      const table = tableFor(type);
      for await (const some of parts(rows, ...SIZES)) {
        const { text, parameters } = table.putAll(some);
        await change(type, text, parameters);
      }
    },
    async removeAll(type, ids) {
      for await (const some of parts(ids, MAX_VALUES)) {
        const { text, parameters } = tableFor(type).removeAll(some);
        await change(type, text, parameters);
      }
    },
  };
}

/**
 * Cuts a list into parts, each as long as the longest of `sizes` that what is left fills, or all that is left. Others have
 * their turn between two parts: on an embedded database the statements of a long list would keep them waiting.
 */
async function* parts<T>(list: readonly T[], ...sizes: readonly number[]): AsyncGenerator<readonly T[]> {
  for (let start = 0; start < list.length;) {
    if (start > 0) await new Promise((resume) => setImmediate(resume));
    const left = list.length - start;
    const size = sizes.findLast((each) => each <= left) ?? left;
    yield list.slice(start, start + size);
    start += size;
  }
}
