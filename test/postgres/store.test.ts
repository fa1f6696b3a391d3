import { randomUUID } from 'node:crypto';
import { openPostgres } from '../../src/sql/postgres/open.ts';
import { createDatabase } from '../harness/postgres.ts';
import { storeContract } from '../sql/contract.ts';

const SETTINGS = {
  maxConnections: 5,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};

storeContract('PostgreSQL', async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `contract-${randomUUID()}`);
  const database = await openPostgres(
    url.replace(/^postgres:/, ''),
    { committed: () => undefined },
    SETTINGS,
  );
  return { database, remove: async () => undefined };
});
