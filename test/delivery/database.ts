import { randomUUID } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClock } from '../../src/clock.ts';
import type { Clock, Store } from '../../src/core/ports.ts';
import { keyed } from '../../src/core/query.ts';
import { readCreation } from '../../src/resources/operations/body.ts';
import { change, type Dependencies } from '../../src/resources/operations/change.ts';
import {
  createResource,
  deleteResource,
  updateResource,
} from '../../src/resources/operations/collection.ts';
import { typeOfCollection } from '../../src/resources/resources.ts';
import { parseDatabase } from '../../src/sql/databases.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database, Sql, TransactionSql } from '../../src/sql/sql.ts';
import { createStore } from '../../src/database/store.ts';
import { CALLER, dependenciesOn } from '../harness/dependencies.ts';
import { copyDatabase } from '../harness/postgres.ts';
import { temporaryFolder, testDatabase } from '../harness/service.ts';

const SETTINGS = {
  maxConnections: 6,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};
const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const CONTEXT = { caller: { ...CALLER, projectId: 'project' } };

/** An open database, with functions that change its resources as a caller would. */
export interface DeliveryDatabase {
  readonly url: string;
  readonly database: Database;
  readonly store: Store;
  readonly clock: Clock;
  readonly dependencies: Dependencies;
  /** Returns the statements of all write transactions so far. */
  statements(): readonly string[];
  /** Returns the members of a new key with this name for the default pool. */
  key(name: string): Readonly<Record<string, unknown>>;
  /** Creates a resource and returns its id. */
  create(collection: string, body: object): Promise<string>;
  update(collection: string, id: string, body: object): Promise<void>;
  remove(collection: string, id: string): Promise<void>;
  /** Creates resources in one transaction. */
  createAll(collection: string, bodies: readonly object[]): Promise<void>;
  /** Returns the version of a key that delivery compares. */
  version(id: string): Promise<number>;
  close(): Promise<void>;
}

/** Opens the database at `url`. By default, opens a new database of the kind under test. */
export async function openDeliveryDatabase(url?: string): Promise<DeliveryDatabase> {
  const folder = temporaryFolder();
  const location = url ?? (await testDatabase(folder));
  const parsed = parseDatabase(location);
  const opened = await parsed.kind.open(parsed.location, { committed: () => undefined }, SETTINGS);
  const texts: string[] = [];
  const database: Database = {
    ...opened,
    write: (work) => opened.write((sql) => work(recording(sql, texts))),
  };
  const clock = createClock();
  await migrate(database, clock());
  const store = createStore(database);
  const dependencies = dependenciesOn(store, { clock });
  return {
    url: location,
    database,
    store,
    clock,
    dependencies,
    statements: () => [...texts],
    key: (name) => ({
      name,
      algorithm: 'hmac-sha256',
      secret: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MTI=',
      scope: 'POOL',
      resource_id: POOL,
    }),
    create: async (collection, body) =>
      (await createResource(dependencies, typeOfCollection(collection), CONTEXT, body)).id,
    async update(collection, id, body) {
      await updateResource(dependencies, typeOfCollection(collection), CONTEXT, id, body);
    },
    async remove(collection, id) {
      await deleteResource(dependencies, typeOfCollection(collection), CONTEXT, id);
    },
    async createAll(collection, bodies) {
      const type = typeOfCollection(collection);
      const context = { ...CONTEXT, action: `${collection}:create` };
      const own = () => ({ id: randomUUID(), created_at: clock(), updated_at: null });
      await change(dependencies, context, async (changes) => {
        for (const body of bodies) {
          const given = readCreation(type, body, dependencies.settings);
          await changes.create(type, keyed(type, { ...given, ...own() }));
        }
      });
    },
    async version(id) {
      const row = await database.reads.one('SELECT version FROM tsigkeys WHERE id = ?', [id]);
      return Number(row?.version);
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function recording(sql: TransactionSql, texts: string[]): TransactionSql {
  const note = (text: string) => void texts.push(text);
  const noted: Sql = {
    all: (text, parameters, use) => (note(text), sql.all(text, parameters, use)),
    one: (text, parameters, use) => (note(text), sql.one(text, parameters, use)),
    run: (text, parameters) => (note(text), sql.run(text, parameters)),
  };
  return { ...noted, lock: sql.lock };
}

/** Copies a database that no process uses, and returns the URL of the copy. */
export async function backup(url: string, folder: string): Promise<string> {
  if (!url.startsWith('sqlite:')) return copyDatabase(url, `${url.split('/').at(-1)}_backup`);
  const copy = join(folder, 'backup.db');
  copyFileSync(url.slice('sqlite:'.length), copy);
  return `sqlite:${copy}`;
}
