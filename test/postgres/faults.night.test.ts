import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/client.ts';
import { createDatabase, startPostgres, type PostgresServer } from '../harness/postgres.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

let server: PostgresServer;
let proxy: TcpProxy;
let service: TestService;
let number = 0;
const fresh = () => `entry${(number += 1)}`;

beforeAll(async () => {
  server = await startPostgres();
  const url = new URL(await createDatabase(server.url, 'faults'));
  proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  service = await startTestService({
    TSIGIL_DATABASE_URL: url.href,
    TSIGIL_DATABASE_POOL_MAX_CONNECTIONS: '3',
  });
});
afterAll(async () => {
  proxy.behave('pass');
  await service.close();
  await proxy.close();
});
beforeEach(() => untilItWorks());

function expectUnavailable(response: ApiResponse): void {
  expect([response.status, response.body.type]).toEqual([503, 'service_unavailable']);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Repeats a write until it succeeds within a minute. Fails unless every earlier response is 503. */
async function untilItWorks(): Promise<void> {
  for (const deadline = Date.now() + 60_000; ;) {
    expect(Date.now()).toBeLessThan(deadline);
    const response = await service.post('/v2/tlds', { name: fresh() });
    if (response.status === 201) return;
    expectUnavailable(response);
  }
}

async function names(): Promise<string[]> {
  const { body } = await service.get('/v2/tlds');
  return (body.tlds as { name: string }[]).map(({ name }) => name);
}

test.each(['SIGINT', 'SIGQUIT', 'SIGKILL'] as const)(
  '503 with Retry-After while the database is down after %s, and 201 when it is up again',
  async (signal) => {
    await server.stop(signal);
    for (const response of [
      await service.get('/v2/tlds'),
      await service.post('/v2/tlds', { name: fresh() }),
    ])
      expectUnavailable(response);
    expect((await service.get('/readyz')).status).toBe(503);
    expect((await service.get('/healthcheck')).status).toBe(200);
    expect((await service.get('/metrics')).text).toContain('tsigil_database_up 0');
    await server.start();
    await untilItWorks();
    expect((await service.get('/readyz')).status).toBe(200);
  },
);

test('503 within the timeouts while the network drops everything, and 201 when it recovers', async () => {
  proxy.behave('stall');
  const responses = await Promise.all(Array.from({ length: 8 }, () => service.get('/v2/tlds')));
  for (const response of responses) expectUnavailable(response);
  proxy.behave('cut'); // the stalled connections lost bytes, so they cannot continue
  proxy.behave('pass');
  await untilItWorks();
});

test('503 without a change if the connection breaks before the commit arrives', async () => {
  const name = fresh();
  proxy.cutAt(name, 'COMMIT', 'before');
  expectUnavailable(await service.post('/v2/tlds', { name }));
  expect(await names()).not.toContain(name);
});

test('503, never success, if the connection breaks after the commit; the write is complete or absent', async () => {
  const name = fresh();
  proxy.cutAt(name, 'COMMIT', 'after');
  expectUnavailable(await service.post('/v2/tlds', { name }));
  const again = await service.post('/v2/tlds', { name });
  expect([201, 409]).toContain(again.status);
  expect((await names()).filter((found) => found === name)).toHaveLength(1);
});

test('503 if the database is a read-only standby', async () => {
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  try {
    await admin.query('ALTER DATABASE faults SET default_transaction_read_only = on');
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'faults'`,
    );
    await service.get('/v2/tlds'); // the request may use a connection that was closed
    const response = await service.post('/v2/tlds', { name: fresh() });
    expectUnavailable(response);
    expect(response.body.message).toMatch(/standby|does not respond/);
  } finally {
    await admin.query('ALTER DATABASE faults RESET default_transaction_read_only');
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'faults'`,
    );
    await admin.end();
  }
  await untilItWorks();
});
