import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { createTrail, describeAttacks, type Victim } from './attacks.ts';

describe('attacks on the audit trail of SQLite', () => {
  const original = victimIn(temporaryFolder());
  beforeAll(() => createTrail(original));
  afterAll(() => rmSync(original.folder, { recursive: true, force: true }));

  describeAttacks(() => {
    const folder = temporaryFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(original.folder, folder, { recursive: true });
    return Promise.resolve(victimIn(folder));
  });
});

/** The first start creates a master key beside the database. */
function victimIn(folder: string): Victim {
  return { folder, url: `sqlite:${folder}/tsigil.db`, variables: {} };
}
