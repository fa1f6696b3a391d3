import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DISK, startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';
import { queryByAnotherProgram } from '../harness/sqlite-programs.ts';
import { countInDoubt, emptyLedger, storm, verify } from '../harness/storm.ts';

const ROUNDS = sized(3, 6);
const WORKERS = 24;

const folder = temporaryFolder(DISK);

/** Checks the database while the service runs, because the service has then recovered it. */
function checkIntegrity(): unknown {
  return queryByAnotherProgram(join(folder, 'var/tsigil.db'), 'PRAGMA integrity_check')[0];
}

test(`after kill -9 during concurrent writes, ${ROUNDS} times, no acknowledged write is lost and no write is partial`, async () => {
  const ledger = emptyLedger();
  let acknowledged = 0;
  let inDoubt = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startServiceProcess(folder);
    await verify(service, ledger);
    expect(checkIntegrity()).toEqual({ integrity_check: 'ok' });
    let lives = 0;
    const untilItDies = (answered: boolean) => {
      lives += 1;
      // kills the service while all callers except one wait
      if (lives === 2 * WORKERS + round) service.process.kill('SIGKILL');
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
  expect(checkIntegrity()).toEqual({ integrity_check: 'ok' });
  expect(await service.stop('SIGTERM')).toBe(0);
  // On average, each caller got more than one acknowledgement per round, and each kill interrupted
  // more than one write.
  expect(acknowledged).toBeGreaterThan(ROUNDS * WORKERS);
  expect(inDoubt).toBeGreaterThan(ROUNDS);
}, 240_000);
