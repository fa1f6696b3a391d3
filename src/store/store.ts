import { ServiceError } from '../domain/model/errors.ts';
import type { Keyring } from '../domain/encryption/keyring.ts';
import type { Affected, Page, Reader, Store, Turn, Writer } from '../domain/model/ports.ts';
import type { Condition, PageQuery } from '../domain/model/query.ts';
import type { Fields, ResourceType } from '../domain/model/resource.ts';
import { isLookup, isReadOffIndex } from './sql/indexes.ts';
import { partsInSlices } from '../domain/scheduling/slicer.ts';
import { fewWithPrefix } from './sql/prefix.ts';
import { newSlicer, readerOn, readPage } from './sql/reader.ts';
import { createOutbox } from './delivery/outbox.ts';
import { nameServer } from '../domain/resources/name-server.ts';
import { tsigkey } from '../domain/resources/tsigkey.ts';
import { keysThat } from './keys-in-need.ts';
import { createScans } from './scans.ts';
import { insertRecord } from './sql/audit-records.ts';
import { loadDataKeys } from './sql/data-keys.ts';
import type { Database, Snapshot, Sql, SqlValue, TransactionSql } from './sql/sql.ts';
import { MAX_VALUES, SIZES, tablesIn, type TableFor } from './sql/table.ts';

const TOKENS_AT_A_TIME = 256;

const NOTE_USE =
  'UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)';

const NOTE_SEEN = 'UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at < ?';

/** The turn of lists that the service reads without a caller. */
const OWN_TURN: Turn = { owner: '', signal: () => undefined };

/**
 * Creates a reader of an open database whose schema is up to date. `keyring` decrypts the secrets
 * of the database.
 */
export function createReader({ dialect, reads }: Snapshot, keyring?: Keyring): Reader {
  return readerOn(reads, tablesIn(dialect, keyring), dialect);
}

/** Creates the domain's store on an open database whose schema is up to date. */
export function createStore(database: Database): Store {
  const tableFor = tablesIn(database.dialect, database.keyring);
  const runScan = createScans(database.scanSlots);
  const changes = new Map<ResourceType, number>();
  // The embedded database runs every write on the same connection, so one reader is sufficient.
  const readers = new WeakMap<Sql, Reader>();
  const readerFor = (sql: Sql): Reader => {
    const reader = readers.get(sql) ?? readerOn(sql, tableFor, database.dialect);
    readers.set(sql, reader);
    return reader;
  };
  const outbox = createOutbox({
    dialect: database.dialect,
    exclusive: database.exclusive,
    serverChanges: () => changes.get(nameServer) ?? 0,
  });
  const wakes = new Set<() => void>();
  const reads = readerOn(database.reads, tableFor, database.dialect);

  const scan = async <F extends Fields>(
    type: ResourceType<F>,
    query: PageQuery,
    turn: Turn,
  ): Promise<Page<F>> => {
    const page = await runScan(turn, (signal) => database.scan(type.collection, query, signal));
    return page as Page<F>; // the rows of a collection are resources of its type
  };

  const countByScan = async (
    collection: string,
    conditions: readonly Condition[],
    turn: Turn,
  ): Promise<number> => {
    const query: PageQuery = {
      limit: 0,
      sortField: 'id',
      descending: false,
      conditions,
      count: true,
    };
    return (await runScan(turn, (signal) => database.scan(collection, query, signal))).total ?? 0;
  };

  const countByIndex = async <F extends Fields>(
    type: ResourceType<F>,
    conditions: readonly Condition[],
  ): Promise<number> => {
    const { text, parameters, use } = tableFor(type).count(conditions);
    return Number((await database.reads.one(text, parameters, use))?.count);
  };

  const page = async <F extends Fields>(
    type: ResourceType<F>,
    query: PageQuery,
    turn: Turn,
  ): Promise<Page<F>> => {
    const { conditions } = query;
    let table = tableFor(type);
    if (query.computed !== undefined || !isReadOffIndex(type, query)) {
      // PostgreSQL plans a scan by its statistics.
      const few = database.exclusive ? await fewWithPrefix(database.reads, type, query) : undefined;
      if (few === undefined) return scan(type, query, turn);
      const { list } = table;
      table = { ...table, list: (part) => list(part, few) };
    }
    const { resources, more } = await readPage(database.reads, table, query);
    if (query.count !== true) return { resources, more, total: undefined };
    // If the page contains the whole list, its length is the total. The service counts only longer
    // lists.
    if (!more && query.after === undefined) return { resources, more, total: resources.length };
    const isSmall = conditions.some((condition) => isLookup(type, condition));
    const total = isSmall
      ? await countByIndex(type, conditions)
      : await countByScan(type.collection, conditions, turn);
    return { resources, more, total: Math.max(resources.length, total) };
  };

  const notify = () => {
    for (const wake of wakes) wake();
    database.notifications?.send();
  };

  return {
    ...reads,
    page,
    list: async (type, query) => (await page(type, query, OWN_TURN)).resources,
    count: ({ collection }, conditions) => countByScan(collection, conditions, OWN_TURN),
    async countUpTo(type, conditions, most) {
      const query = { limit: most, sortField: 'created_at', descending: false, conditions };
      if (!isReadOffIndex(type, query)) return (await scan(type, query, OWN_TURN)).resources.length;
      const { text, parameters } = tableFor(type).list(query);
      const counting = `SELECT count(*) AS count FROM (${text}) AS listed`;
      return Number((await database.reads.one(counting, parameters))?.count);
    },
    keysThat: (need, conditions) => keysThat(database, need, conditions),
    async write(work) {
      const changed = new Set<ResourceType>();
      const countChange = (type: ResourceType) => changes.set(type, (changes.get(type) ?? 0) + 1);
      // Count the change before the commit too, because a later write of the same transaction sees
      // this change.
      const noteChange = (type: ResourceType) => {
        if (changed.has(type)) return;
        changed.add(type);
        countChange(type);
      };
      const outcome = { announced: false };
      const announce = (sql: TransactionSql) => (affected: Affected) =>
        outbox.announce(sql, affected)?.then((added) => {
          outcome.announced = added;
        });
      try {
        const transact = () =>
          database.write((sql) =>
            work(writerOn(readerFor(sql), sql, tableFor, database, noteChange, announce(sql))),
          );
        const attempt = (more: number): ReturnType<typeof transact> =>
          transact().catch(async (error: unknown) => {
            if (!(error instanceof DeletedReferenceError) || more === 0) throw error;
            if (database.keyring !== undefined)
              await loadDataKeys(database.reads, database.keyring);
            return attempt(more - 1);
          });
        const result = await attempt(MAX_REPEATS);
        if (outcome.announced) notify();
        return result;
      } finally {
        // Count the changes again after the commit, before the caller gets the result. So a cache
        // stores no value that it read during the commit.
        for (const type of changed) countChange(type);
      }
    },
    noteUses: (uses, before) => noteUses(database, uses, before),
    noteSeen: (id, at) =>
      database.write(async (sql) => {
        await sql.run(NOTE_SEEN, [at, id, at]);
      }),
    announced: notify,
    onAnnounced(wake) {
      wakes.add(wake);
      const stop = database.notifications?.listen(wake);
      return async () => {
        wakes.delete(wake);
        await stop?.();
      };
    },
    changes: (type) => changes.get(type) ?? 0,
    exclusive: database.exclusive,
    ping: () => database.ping(),
    close: () => database.close(),
  };
}

/** Returns a writer that reads with `reader`, and calls `noteChange` before each change. */
function writerOn(
  reader: Reader,
  sql: TransactionSql,
  tableFor: TableFor,
  database: Database,
  noteChange: (type: ResourceType) => void,
  announce: Writer['announce'],
): Writer {
  const refused = async (type: ResourceType, cause: unknown): Promise<never> => {
    if (database.dialect.isUniqueViolation(cause))
      throw new ServiceError('duplicate', { type }, { cause });
    if (database.dialect.isReferenceViolation(cause)) throw new DeletedReferenceError({ cause });
    throw cause;
  };
  const change = async (
    type: ResourceType,
    statement: string,
    parameters: SqlValue[],
  ): Promise<number> => {
    noteChange(type);
    try {
      return await sql.run(statement, parameters);
    } catch (cause) {
      return refused(type, cause);
    }
  };
  return {
    // The methods are listed one by one, because spreading the reader takes longer than the rest of
    // this function.
    get: reader.get,
    find: reader.find,
    present: reader.present,
    list: reader.list,
    count: reader.count,
    exists: reader.exists,
    zoneRights: reader.zoneRights,
    reservation: reader.reservation,
    grantedZones: reader.grantedZones,
    lock: sql.lock,
    settle: sql.settle,
    announce,
    async getToChange(type, id) {
      const table = tableFor(type);
      const row = await sql.one(table.getToChange, [id]);
      return row === undefined ? undefined : table.decode(row);
    },
    async insert(type, row) {
      const table = tableFor(type);
      const values = table.encode(row);
      if (sql.runLater === undefined) {
        await change(type, table.insert, values);
        return;
      }
      noteChange(type);
      await sql.runLater(table.insert, values, (cause) => refused(type, cause));
    },
    async replace(type, row) {
      const table = tableFor(type);
      await change(type, table.replace, [...table.encode(row), row.resource.id]);
    },
    async setZoneRights(keyId, zones) {
      await change(tsigkey, 'DELETE FROM tsigkey_grants WHERE key_id = ?', [keyId]);
      const slicer = newSlicer().forTransaction();
      for await (const some of partsInSlices([...zones], slicer, ...SIZES)) {
        const rows = some.map(() => '(?, ?, ?)').join(', ');
        const values = some.flatMap(([zoneId, rights]) => [keyId, zoneId, rights]);
        await change(
          tsigkey,
          `INSERT INTO tsigkey_grants (key_id, zone_id, rights) VALUES ${rows}`,
          values,
        );
      }
    },
    async orphanKeys(id) {
      await change(tsigkey, 'UPDATE tsigkeys SET orphaned = 1 WHERE resource_id = ?', [id]);
    },
    async remove(type, id) {
      return (await change(type, tableFor(type).remove, [id])) > 0;
    },
    async putAll(type, rows) {
      const table = tableFor(type);
      for await (const some of partsInSlices(rows, newSlicer().forTransaction(), ...SIZES)) {
        const { text, parameters } = table.putAll(some);
        await change(type, text, parameters);
      }
    },
    record: (entry) => insertRecord(sql, entry),
    async removeAll(type, ids) {
      const table = tableFor(type);
      for await (const some of partsInSlices(ids, newSlicer().forTransaction(), MAX_VALUES)) {
        const { text, parameters } = table.removeAll(some);
        await change(type, text, parameters);
      }
    },
  };
}

/**
 * Sets `last_used_at` of the tokens in `uses`, unless the stored time is later than `before`.
 * Writes in the order of the ids, so that two processes cannot deadlock.
 */
async function noteUses(
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

/** Each time, another process must have deleted something else just before. */
const MAX_REPEATS = 5;

/**
 * A change that refers to what another process has deleted meanwhile: a data key, after a rotation,
 * or a zone that grants name.
 */
class DeletedReferenceError extends Error {
  constructor(options: ErrorOptions) {
    super('A data key or a zone was deleted meanwhile', options);
  }
}
