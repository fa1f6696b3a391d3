import { join } from 'node:path';
import { expect, test } from 'vitest';
import { auditRecords } from '../harness/audit.ts';
import { DISK, startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';
import { queryByAnotherProgram } from '../harness/sqlite-programs.ts';
import { countInDoubt, emptyLedger, storm, verify } from '../harness/storm.ts';

const ROUNDS = sized(3, 6);
const WORKERS = 24;

const folder = temporaryFolder(DISK);

const file = join(folder, 'var/tsigil.db');

/** Returns the ids of the resources that exist according to the audit trail. */
async function idsInTrail(): Promise<string[]> {
  const ids = new Set<string>();
  for (const { action, resource_id: id } of await auditRecords(`sqlite:${file}`)) {
    if (id === null) continue;
    if (action.endsWith(':create')) ids.add(id);
    if (action.endsWith(':delete')) ids.delete(id);
  }
  return [...ids].sort();
}

/** Checks the database while the service runs, because the service has then recovered it. */
async function expectWhole(): Promise<void> {
  for (const check of ['integrity_check', 'foreign_key_check'])
    expect(queryByAnotherProgram(file, `PRAGMA ${check}`)).toEqual(
      check === 'integrity_check' ? [{ integrity_check: 'ok' }] : [],
    );
  const all = ['tlds', 'tsigkeys', 'zones'].map((table) => `SELECT id FROM ${table}`);
  const rows = queryByAnotherProgram(file, all.join(' UNION ALL ')) as { id: string }[];
  expect(rows.map(({ id }) => id).sort()).toEqual(await idsInTrail());
}

test(`after kill -9 during concurrent writes, ${ROUNDS} times, no acknowledged write is lost, no write is partial, and the audit trail agrees with the resources`, async () => {
  const ledger = emptyLedger();
  let acknowledged = 0;
  let inDoubt = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startServiceProcess(folder);
    await verify(service, ledger);
    await expectWhole();
    let lives = 0;
    const untilItDies = (answered: boolean) => {
      lives += 1;
      // kills the service while all callers except one wait
      if (lives === 4 * WORKERS + round) service.process.kill('SIGKILL');
      return answered ? service : undefined;
    };
    const workers = Array.from({ length: WORKERS }, (_, worker) =>
      storm(untilItDies, `r${round}-w${worker}`, ledger),
    );
    for (const count of await Promise.all(workers)) acknowledged += count;
    inDoubt += countInDoubt(ledger);
    expect(await service.stop('SIGKILL')).toBeNull();
  }
  const service = await startServiceProcess(folder);
  await verify(service, ledger);
  await expectWhole();
  expect(await service.stop('SIGTERM')).toBe(0);
  // On average, each caller got more than one acknowledgement per round, and each kill interrupted
  // more than one write.
  expect(acknowledged).toBeGreaterThan(ROUNDS * WORKERS);
  expect(inDoubt).toBeGreaterThan(ROUNDS);
}, 240_000);
