import { ServiceError } from '../core/errors.ts';
import type { Keyring } from '../core/keyring.ts';
import type { Affected, Reader, Store, Writer } from '../core/ports.ts';
import type { ResourceType } from '../core/resource.ts';
import { partsInSlices } from '../core/scheduling/slicer.ts';
import { readerOn } from '../sql/reader.ts';
import { newSlicer } from '../net/slices.ts';
import { createOutbox } from '../delivery/store/outbox.ts';
import { nameServer } from '../resources/name-server.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { createLists } from '../sql/lists.ts';
import { insertRecord } from '../audit/store/records.ts';
import { loadDataKeys } from '../sql/data-keys.ts';
import type { Database, Dialect, Snapshot, Sql, SqlValue, TransactionSql } from '../sql/sql.ts';
import { MAX_VALUES, SIZES, tablesIn, type TableFor } from '../sql/table.ts';

const TOKENS_AT_A_TIME = 256;

const NOTE_USE =
  'UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)';

const NOTE_SEEN = 'UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at < ?';

/** The schema must be up to date. `keyring` decrypts the secrets of the database. */
export function createReader({ dialect, reads }: Snapshot, keyring?: Keyring): Reader {
  return readerOn(reads, tablesIn(dialect, keyring), dialect);
}

export function createStore(database: Database): Store {
  const tableFor = tablesIn(database.dialect, database.keyring);
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

  const notify = () => {
    for (const wake of wakes) wake();
    database.notifications?.send();
  };

  return {
    ...reads,
    ...createLists(database, tableFor),
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
        const result = await repeating(database, () =>
          database.write((sql) =>
            work(writerOn(readerFor(sql), sql, tableFor, database, noteChange, announce(sql))),
          ),
        );
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
  const change = async (
    type: ResourceType,
    statement: string,
    parameters: SqlValue[],
  ): Promise<number> => {
    noteChange(type);
    try {
      return await sql.run(statement, parameters);
    } catch (cause) {
      return refuse(database.dialect, type, cause);
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
    referencingServers: reader.referencingServers,
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
      await sql.runLater(table.insert, values, (cause) => refuse(database.dialect, type, cause));
    },
    async replace(type, row) {
      const table = tableFor(type);
      await change(type, table.replace, [...table.encode(row), row.resource.id]);
    },
    setZoneRights: (keyId, zones) =>
      setZoneRights((text, values) => change(tsigkey, text, values), keyId, zones),
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

async function refuse(dialect: Dialect, type: ResourceType, cause: unknown): Promise<never> {
  if (dialect.isUniqueViolation(cause)) throw new ServiceError('duplicate', { type }, { cause });
  if (dialect.isReferenceViolation(cause)) throw new DeletedReferenceError({ cause });
  throw cause;
}

async function setZoneRights(
  run: (statement: string, values: SqlValue[]) => Promise<unknown>,
  keyId: string,
  zones: ReadonlyMap<string, string>,
): Promise<void> {
  await run('DELETE FROM tsigkey_grants WHERE key_id = ?', [keyId]);
  const slicer = newSlicer().forTransaction();
  for await (const some of partsInSlices([...zones], slicer, ...SIZES)) {
    const rows = some.map(() => '(?, ?, ?)').join(', ');
    const values = some.flatMap(([zoneId, rights]) => [keyId, zoneId, rights]);
    await run(`INSERT INTO tsigkey_grants (key_id, zone_id, rights) VALUES ${rows}`, values);
  }
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

/** Runs a transaction, and again if it refers to what another process has deleted meanwhile. */
async function repeating<T>(
  { keyring, reads }: Pick<Database, 'keyring' | 'reads'>,
  transact: () => Promise<T>,
  repeats = MAX_REPEATS,
): Promise<T> {
  try {
    return await transact();
  } catch (error) {
    if (!(error instanceof DeletedReferenceError) || repeats === 0) throw error;
    if (keyring !== undefined) await loadDataKeys(reads, keyring);
    return repeating({ keyring, reads }, transact, repeats - 1);
  }
}

/**
 * A change that refers to what another process has deleted meanwhile: a data key, after a rotation,
 * or a zone that grants name.
 */
class DeletedReferenceError extends Error {
  constructor(options: ErrorOptions) {
    super('A data key or a zone was deleted meanwhile', options);
  }
}
