import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { canMount, fillWith, mountMemory } from '../harness/file-systems.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { queryByAnotherProgram } from '../harness/sqlite-programs.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

describe.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))('a full disk', () => {
  /**
   * Runs `prepare`, fills the disk of the database and runs `work`. Then stops the service and runs
   * `check`.
   */
  async function onFullDisk(
    variables: Record<string, string>,
    prepare: (service: ServiceProcess) => Promise<void>,
    work: (service: ServiceProcess, makeRoom: () => void) => Promise<void>,
    check: (file: string) => void,
  ): Promise<void> {
    const disk = mountMemory(folder, '3m');
    if (disk === undefined) throw new Error('could be mounted before, cannot now');
    try {
      const file = join(disk.folder, 'tsigil.db');
      const filler = join(disk.folder, 'filler');
      const service = await startServiceProcess(folder, {
        TSIGIL_DATABASE_URL: `sqlite:${file}`,
        ...variables,
      });
      await prepare(service);
      fillWith(filler);
      await work(service, () => rmSync(filler));
      rmSync(filler, { force: true });
      expect(await service.stop('SIGTERM')).toBe(0);
      check(file);
    } finally {
      disk.remove();
    }
  }

  test('with auditing of each read, 503 without a secret, and exactly one record for each read that succeeded', async () => {
    const key = { name: 'key', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
    const paths = ['/v2/tsigkeys', '/v2/tsigkeys/ID', '/v2/tsigkeys/ID/export?format=bind'];
    let id = '';
    let secret = '';
    let returned = 0;
    await onFullDisk(
      { TSIGIL_AUDIT_SECRET_READS: 'each' },
      async (service) => {
        const { body } = await service.post('/v2/tsigkeys', key);
        [id, secret] = [body.id as string, body.secret as string];
      },
      async (service, makeRoom) => {
        const read = async (path: string) => {
          const { status, text } = await service.get(path.replace('ID', id));
          expect(text.includes(secret)).toBe(status === 200);
          if (status === 200) returned += 1;
          return status;
        };
        for (const path of paths) {
          let status = 200;
          while (status === 200) status = await read(path);
          expect(status).toBe(503);
        }
        makeRoom();
        for (const path of paths) await expect.poll(() => read(path)).toBe(200);
      },
      (file) =>
        expect(
          queryByAnotherProgram(
            file,
            "SELECT count(*) AS records FROM audit_records WHERE action IN ('tsigkeys:get', 'tsigkeys:list', 'tsigkeys:export')",
          ),
        ).toEqual([{ records: returned }]),
    );
  });
});
