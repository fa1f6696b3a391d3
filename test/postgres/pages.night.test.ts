import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { openPostgres } from '../../src/sql/postgres/open.ts';
import { createStore } from '../../src/database/store.ts';
import { createDatabase } from '../harness/postgres.ts';
import { pageContract } from '../sql/page-contract.ts';
import { NOW } from '../sql/samples.ts';

const SETTINGS = {
  maxConnections: 3,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};

let store: Store | undefined;
afterAll(() => store?.close());

pageContract('PostgreSQL', async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `pages-${randomUUID()}`);
  const database = await openPostgres(
    url.replace(/^postgres:/, ''),
    { committed: () => undefined },
    SETTINGS,
  );
  await migrate(database, NOW);
  return (store = createStore(database));
});
