import { beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { primary } from '../harness/zones.ts';

const SECONDS = 10;
const CALLERS = 64;

let service: TestService;
beforeAll(async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'contention');
  service = await startTestService({
    TSIGIL_DATABASE_URL: url,
    TSIGIL_DATABASE_POOL_MAX_CONNECTIONS: '60',
  });
});

test(
  `201 for every creation while ${CALLERS} callers create distinct TLD entries and zones for ${SECONDS} s`,
  async () => {
    await service.post('/v2/tlds', { name: 'com' });
    const until = Date.now() + SECONDS * 1000;
    const statuses = new Map<number, number>();
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        for (let turn = 0; Date.now() < until; turn += 1) {
          const label = `caller${caller}-turn${turn}`;
          const creations = [
            ['/v2/tlds', { name: label }],
            ['/v2/zones', primary(`example.${label}.`)],
            ['/v2/zones', primary(`${label}.com.`)],
            ['/v2/zones', primary(`below.${label}.com.`)],
          ] as const;
          for (const [path, body] of creations) {
            const { status } = await service.post(path, body);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        }
      }),
    );
    expect([...statuses.keys()]).toEqual([201]);
  },
  (SECONDS + 60) * 1000,
);
