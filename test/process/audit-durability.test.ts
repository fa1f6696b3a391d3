import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectOneRecordEach, runOperations } from '../audit/operations.ts';
import { auditRecords } from '../harness/audit.ts';
import { canMount, mountMemory } from '../harness/file-systems.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { sizeOf } from '../harness/sizes.ts';
import { queryByAnotherProgram } from '../harness/sqlite-programs.ts';
import { emptyLedger, storm } from '../harness/storm.ts';

const WORKERS = 12;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('200 random operations by three callers leave exactly one record each', async () => {
  const service = await startServiceProcess(folder);
  const done = await runOperations([service], 200);
  await expectOneRecordEach(`sqlite:${join(folder, 'var/tsigil.db')}`, done);
  expect(await service.stop('SIGTERM')).toBe(0);
});

/** Returns the ids of the resources that should exist, as the trail states it. */
async function idsInTrail(url: string): Promise<string[]> {
  const ids = new Set<string>();
  for (const { action, resource_id: id } of await auditRecords(url)) {
    if (id === null) continue;
    if (action.endsWith(':create')) ids.add(id);
    if (action.endsWith(':delete')) ids.delete(id);
  }
  return [...ids].sort();
}

test(`kill -9 during concurrent writes, ${sizeOf('killRounds')} times: the changes are those of the trail`, async () => {
  const file = join(folder, 'var/tsigil.db');
  const ledger = emptyLedger();
  for (let round = 0; round < sizeOf('killRounds'); round += 1) {
    const service = await startServiceProcess(folder);
    let lives = 0;
    const untilItDies = (answered: boolean) => {
      lives += 1;
      if (lives === 3 * WORKERS + round) service.process.kill('SIGKILL');
      return answered ? service : undefined;
    };
    await Promise.all(
      Array.from({ length: WORKERS }, (_, worker) =>
        storm(untilItDies, `r${round}-w${worker}`, ledger),
      ),
    );
    expect(await service.stop('SIGKILL')).toBeNull();
    const rows = queryByAnotherProgram(
      file,
      'SELECT id FROM tlds UNION ALL SELECT id FROM tsigkeys',
    ) as { id: string }[];
    expect(rows.map(({ id }) => id).sort()).toEqual(await idsInTrail(`sqlite:${file}`));
  }
}, 240_000);

describe.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))('a full disk', () => {
  test('503, and neither the change nor its record is stored', async () => {
    const disk = mountMemory(folder, '3m');
    if (disk === undefined) throw new Error('could be mounted before, cannot now');
    try {
      const file = join(disk.folder, 'tsigil.db');
      const service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: `sqlite:${file}` });
      fill(join(disk.folder, 'filler'));
      let accepted = 0;
      let status = 201;
      for (; status === 201; accepted += status === 201 ? 1 : 0) {
        const body = { name: `t${accepted}`, description: 'x'.repeat(160) };
        ({ status } = await service.post('/v2/tlds', body));
      }
      expect(status).toBe(503);
      rmSync(join(disk.folder, 'filler'));
      expect(await service.stop('SIGTERM')).toBe(0);
      const rows = queryByAnotherProgram(
        file,
        "SELECT (SELECT count(*) FROM tlds) AS tlds, (SELECT count(*) FROM audit_records WHERE action = 'tlds:create') AS records",
      );
      expect(rows).toEqual([{ tlds: accepted, records: accepted }]);
    } finally {
      disk.remove();
    }
  });
});

/** Fills a file system to the last byte with one file. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (const size of [1 << 16, 4096, 1]) {
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
