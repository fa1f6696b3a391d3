import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const folder = temporaryFolder();

const REQUESTS = 10;

describe.runIf(process.platform === 'linux')('SIGHUP to a service with two workers', () => {
  test('changes the policy of both workers, and of a worker that starts later', async () => {
    const file = join(folder, 'tsigil.yaml');
    const writePolicy = (roles: string) =>
      writeFileSync(file, `policy: {"tlds:list": ${roles}, "hard_delete": [admin, team]}\n`);
    writePolicy('[admin]');
    const service = await startServiceProcess(folder, {
      TSIGIL_DATABASE_URL: await createDatabase(
        process.env.TEST_POSTGRES_URL ?? '',
        'worker-reload',
      ),
      TSIGIL_WORKERS: '2',
      TSIGIL_CONFIG: file,
    });
    onTestFinished(async () => {
      if (service.process.exitCode === null) await service.stop('SIGTERM');
    });
    const workers = () =>
      [...service.output().matchAll(/"pid":(\d+).*"listening"/g)].map(([, pid]) => Number(pid));
    await expect.poll(() => workers()).toHaveLength(2);
    const team = await clientFor(service, ['team']);
    /**
     * Returns the distinct statuses of `REQUESTS` requests. Node.js distributes their connections
     * to the workers in rotation.
     */
    const statuses = async () => {
      const responses = [];
      for (let count = 0; count < REQUESTS; count += 1)
        responses.push(await team.get('/v2/tlds', { connection: 'close' }));
      return [...new Set(responses.map(({ status }) => status))];
    };
    expect(await statuses()).toEqual([401]);

    writePolicy('[admin, team]');
    service.process.kill('SIGHUP');
    await expect.poll(statuses).toEqual([200]);
    expect(service.output().match(/"applied":\["policy"\]/g)).toHaveLength(1);

    process.kill(workers()[0] ?? 0, 'SIGKILL');
    await expect.poll(() => workers()).toHaveLength(3);
    expect(await statuses()).toEqual([200]);

    writePolicy('12');
    service.process.kill('SIGHUP');
    await expect.poll(() => service.output()).toContain('keeps the former configuration');
    expect(await statuses()).toEqual([200]);
    expect(await service.stop('SIGTERM')).toBe(0);
  });
});
