import { cpSync } from 'node:fs';
import { beforeAll, describe } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { createTrail, describeAttacks, type Victim } from './attacks.ts';

/** Values that only SQLite stores in these columns. */
const OWN = [
  [
    'inserts a batch with the highest number',
    "INSERT INTO audit_batches (number, at, count, first_seq, last_seq, previous, hash) VALUES (9223372036854775806, '2026-11-23T05:19:00.000000', 0, 0, 0, 'x', 'y')",
  ],
  ['stores octets as a hash', "UPDATE audit_batches SET hash = x'00ff' WHERE number = 3"],
  ['stores a fraction as a batch', 'UPDATE audit_records SET batch = 2.5 WHERE batch = 2'],
] as const;

describe('attacks on the audit trail of SQLite', () => {
  const original = victimIn(temporaryFolder());
  beforeAll(() => createTrail(original));

  describeAttacks(() => {
    const folder = temporaryFolder();
    cpSync(original.folder, folder, { recursive: true });
    return Promise.resolve(victimIn(folder));
  }, OWN);
});

/** The first start creates a master key beside the database. */
function victimIn(folder: string): Victim {
  return { folder, url: `sqlite:${folder}/tsigil.db`, variables: {} };
}
