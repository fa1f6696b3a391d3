import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { cookieAt, SAME_ORIGIN, signIn } from '../harness/console.ts';
import { recordSecret } from '../harness/evidence.ts';
import { createDatabase } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const TOKEN = 'processes-token-0123456789-0123456789abcdef';
const folder = temporaryFolder();
let url: string;

beforeAll(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'processes');
});

const start = (variables: Record<string, string> = {}) =>
  startServiceProcess(folder, {
    TSIGIL_DATABASE_URL: url,
    TSIGIL_ADMIN_TOKEN: TOKEN,
    ...variables,
  });

describe('two processes on one database', () => {
  let one: ServiceProcess;
  let other: ServiceProcess;
  beforeAll(async () => {
    [one, other] = await Promise.all([start(), start()]); // both processes update the schema
  });
  afterAll(async () => {
    expect(await Promise.all([one.stop('SIGTERM'), other.stop('SIGTERM')])).toEqual([0, 0]);
  });
  const either = (index: number): Client => (index % 2 === 0 ? one : other);

  test('one process returns the writes that the other process has acknowledged', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const created = await either(turn).post('/v2/tlds', { name: `turn${turn}` });
      expect((await either(turn + 1).get(`/v2/tlds/${created.body.id}`)).body.name).toBe(
        `turn${turn}`,
      );
      expect((await either(turn + 1).delete(`/v2/tlds/${created.body.id}`)).status).toBe(204);
      expect((await either(turn).get(`/v2/tlds/${created.body.id}`)).status).toBe(404);
    }
  });

  test('401 for a revoked token: at once from the revoking process, soon from the other process', async () => {
    const { body } = await one.post('/v2/tokens', { name: 'short-lived', roles: ['admin'] });
    expect((await one.with(body.token).get('/v2/tlds')).status).toBe(200);
    expect((await other.with(body.token).get('/v2/tlds')).status).toBe(200);
    expect((await one.delete(`/v2/tokens/${body.id}`)).status).toBe(204);
    expect((await one.with(body.token).get('/v2/tlds')).status).toBe(401);
    await expect
      .poll(async () => (await other.with(body.token).get('/v2/tlds')).status, { interval: 20 })
      .toBe(401);
  });

  /** Returns the statuses of two requests with the cookie of a session, one to each process. */
  const statusesWith = async (cookie: string): Promise<number[]> => {
    const responses = [one, other].map((service) =>
      service.call('GET', '/v2/tlds', undefined, {
        ...SAME_ORIGIN,
        cookie: cookieAt(service, cookie),
      }),
    );
    return (await Promise.all(responses)).map(({ status }) => status);
  };

  test('401 for a session of the console that another process has ended', async () => {
    const browser = await signIn(one);
    expect(await statusesWith(browser.cookie)).toEqual([200, 200]);
    expect((await browser.call('DELETE', '/console/session')).status).toBe(204);
    await expect.poll(() => statusesWith(browser.cookie), { interval: 20 }).toEqual([401, 401]);
  });

  test('201 once for a code of the console that both processes receive', async () => {
    for (let turn = 0; turn < 2; turn += 1) {
      const { body } = await either(turn).post('/console/code', {});
      recordSecret(String(body.code));
      const credential = { method: 'code', code: body.code };
      const browsers = await Promise.all(
        [one, other, one, other].map((service) => signIn(service, credential)),
      );
      expect(browsers.map(({ opened }) => opened.status).sort()).toEqual([201, 401, 401, 401]);
    }
  });
});
