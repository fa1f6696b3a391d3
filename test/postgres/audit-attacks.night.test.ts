import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe } from 'vitest';
import { addMasterKey } from '../../src/secrets/store/master-keys.ts';
import { createTrail, describeAttacks, type Victim } from '../audit/attacks.ts';
import { copyDatabase, createDatabase } from '../harness/postgres.ts';
import { temporaryFolder } from '../harness/service.ts';

describe('attacks on the audit trail of PostgreSQL', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'master.key');
  let original: string;
  const victimAt = (url: string): Victim => ({
    folder,
    url,
    variables: { TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file },
  });
  beforeAll(async () => {
    addMasterKey(file);
    original = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `attacks-${randomUUID()}`);
    await createTrail(victimAt(original));
  });

  describeAttacks(async () => victimAt(await copyDatabase(original, `attacks-${randomUUID()}`)));
});
