import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/domain/resources/resources.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from './session.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    TSIGIL_METRICS_TOKEN: 'a-token-for-metrics-only-with-32-characters',
  });
});

const status = (url: string, token: string) =>
  runInside({ variables: { TSIGIL_URL: url, TSIGIL_TOKEN: token } }, 'status', '-f', 'json');

/** Returns a token with these roles. */
async function tokenOf(...roles: string[]): Promise<string> {
  const { body } = await service.post('/v2/tokens', {
    name: roles.join('-'),
    roles,
    project_id: 'p1',
  });
  return body.token as string;
}

test('status shows resource counts without the metrics token', async () => {
  for (const name of ['com', 'net']) await service.post('/v2/tlds', { name });
  const { out, err } = await status(service.url, service.token);
  expect(JSON.parse(out)).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    database: 'available',
    tlds: 2,
    pools: 1,
    zones: 0,
  });
  expect(err).toBe('');
});

test("status shows 'not permitted' for counts that the token may not read", async () => {
  const reader = await status(service.url, await tokenOf('reader'));
  expect([reader.status, JSON.parse(reader.out)]).toEqual([
    0,
    {
      url: service.url,
      version: expect.any(String) as string,
      database: 'available',
      ...Object.fromEntries(RESOURCE_TYPES.map(({ collection }) => [collection, 'not permitted'])),
      zones: 0,
    },
  ]);
});

test('status sends the token to paths of the API only', async () => {
  const requests: IncomingMessage[] = [];
  const proxy = createServer((request, response) => {
    requests.push(request);
    const token = request.headers['x-auth-token'];
    const headers = typeof token === 'string' ? { 'x-auth-token': token } : {};
    void fetch(service.url + String(request.url), { headers }).then(async (answer) =>
      response.writeHead(answer.status).end(await answer.text()),
    );
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void proxy.close());
  await once(proxy, 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  expect((await status(url, service.token)).status).toBe(0);
  const withToken = requests.filter(({ headers }) => headers['x-auth-token'] !== undefined);
  expect(withToken.length).toBeGreaterThan(3);
  for (const { url: path } of withToken) expect(path).toMatch(/^\/v2\//);
});
