import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe } from 'vitest';
import { addMasterKey } from '../../src/store/secrets/master-keys.ts';
import { createTrail, describeAttacks, type Victim } from '../audit/attacks.ts';
import { createDatabase } from '../harness/postgres.ts';
import { temporaryFolder } from '../harness/service.ts';

describe('attacks on the audit trail of PostgreSQL', () => {
  const server = process.env.TEST_POSTGRES_URL ?? '';
  const folder = temporaryFolder();
  const file = join(folder, 'master.key');
  const template = `attacks-${randomUUID()}`;
  const victimAt = (url: string): Victim => ({
    folder,
    url,
    variables: { TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file },
  });
  beforeAll(async () => {
    addMasterKey(file);
    await createTrail(victimAt(await createDatabase(server, template)));
  });

  describeAttacks(async () => {
    const name = `attacks-${randomUUID()}`;
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(`CREATE DATABASE "${name}" TEMPLATE "${template}"`);
    await client.end();
    return victimAt(server.replace(/[^/]*$/, name));
  });
});
