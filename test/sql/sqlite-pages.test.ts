import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { createStore } from '../../src/database/store.ts';
import { temporaryFolder } from '../harness/service.ts';
import { pageContract } from './page-contract.ts';
import { NOW } from './samples.ts';

const folder = temporaryFolder();
let store: Store | undefined;
afterAll(() => store?.close());

pageContract('SQLite', async () => {
  const database = await openSqlite(join(folder, 'pages.db'), { committed: () => undefined });
  await migrate(database, NOW);
  return (store = createStore(database));
});
