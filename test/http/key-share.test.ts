import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { queryDatabase } from '../harness/audit.ts';
import { recordSecret } from '../harness/evidence.ts';
import type { ApiResponse } from '../harness/client.ts';
import { createEstate, tokenWith } from '../harness/limited-tokens.ts';
import { expectError, POOL_ID } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';

const SECRET = randomBytes(32).toString('base64');
const PAGE = { accept: 'text/html,application/xhtml+xml' };

let service: TestService;
/** How far the clock of the service is ahead. */
let aheadMs = 0;
let count = 0;

beforeAll(async () => {
  service = await startTestService({}, { clock: createClock(() => Date.now() + aheadMs) });
});

async function createKey(): Promise<{ id: string; name: string }> {
  const name = `shared-${(count += 1)}.example`;
  const { status, body } = await service.post('/v2/tsigkeys', {
    name,
    algorithm: 'hmac-sha256',
    secret: SECRET,
    scope: 'POOL',
    resource_id: POOL_ID,
  });
  expect(status).toBe(201);
  return { id: String(body.id), name };
}

/** Creates a link, and returns its path. */
async function share(id: string, body: object = { format: 'bind' }): Promise<string> {
  const response = await service.post(`/v2/tsigkeys/${id}/share`, body);
  expect(response.status, response.text).toBe(200);
  const url = String(response.body.url);
  recordSecret(url.slice(-43)); // the test of leaks then searches all output for it
  expect(url.startsWith(`${service.url}/share/tsigkey/`)).toBe(true);
  return url.slice(service.url.length);
}

const visitor = () => service.with('');
const look = (path: string, headers = {}) => visitor().get(path, headers);
const open = (path: string, headers = {}): Promise<ApiResponse> =>
  visitor().call('POST', path, undefined, headers);

function expectGone(response: ApiResponse, message: string): void {
  expectError(response, 410, 'link_gone');
  expect(response.body.message).toBe(`${message}. Ask for a new link`);
}

describe('a link to a key', () => {
  test('200 with the exported key for the first POST, 410 for the second', async () => {
    const { id, name } = await createKey();
    const path = await share(id);
    const exported = await service.get(`/v2/tsigkeys/${id}/export?format=bind`);
    const first = await open(path);
    expect(first.status, first.text).toBe(200);
    expect(first.text).toBe(exported.text);
    expect(first.text).toContain(name);
    expectGone(await open(path), 'This link was opened already, and works only once');
  });

  test('200 with what a secondary server needs', async () => {
    const { id } = await createKey();
    const query = 'for=secondary&primary=192.0.2.53&zone=example.org';
    const exported = await service.get(`/v2/tsigkeys/${id}/export?format=knot&${query}`);
    const path = await share(id, Object.fromEntries(new URLSearchParams(`format=knot&${query}`)));
    expect((await open(path)).text).toBe(exported.text);
  });

  test('200 for GET and HEAD, which use nothing up, show no secret and run no script', async () => {
    const { id, name } = await createKey();
    const path = await share(id);
    for (let visit = 0; visit < 3; visit += 1) {
      const page = await look(path, PAGE);
      expect(page.status).toBe(200);
      expect(page.text).toContain(name);
      expect(page.text).not.toContain(SECRET);
      expect(page.text).not.toMatch(/<script|\son\w+=|https?:/);
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(page.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      );
    }
    expect((await visitor().call('HEAD', path)).status).toBe(200);
    const opened = await open(path, PAGE);
    expect(opened.status).toBe(200);
    expect(opened.text).toContain(SECRET.replaceAll('&', '&amp;'));
    const again = await open(path, PAGE);
    expect(again.status).toBe(410);
    expect(again.text).toContain('This link was opened already, and works only once.');
    expect((await look(path, PAGE)).status).toBe(410);
  });

  test('200 for one of several requests at the same time', async () => {
    const { id } = await createKey();
    const path = await share(id);
    const responses = await Promise.all(Array.from({ length: 8 }, () => open(path)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 410),
    ]);
  });

  test('404 for an unknown link', async () => {
    expect((await open(`/share/tsigkey/${'x'.repeat(43)}`)).status).toBe(404);
    const page = await look('/share/tsigkey/x', PAGE);
    expect(page.status).toBe(404);
    expect(page.text).toContain('This link does not exist.');
  });

  test('410 after its time', async () => {
    const { id } = await createKey();
    const path = await share(id, { format: 'bind', expires_seconds: 60 });
    aheadMs += 61_000;
    expectGone(await open(path), 'This link has expired');
    expectGone(await look(path), 'This link has expired');
  });

  test.each(['changed', 'deleted', 'rotated', 'retired'])('410 once the key is %s', async (how) => {
    const { id } = await createKey();
    const path = await share(id);
    const force = { 'tsigil-force': 'true' };
    if (how === 'changed') await service.patch(`/v2/tsigkeys/${id}`, { name: `new-${id}` });
    else if (how === 'deleted') await service.delete(`/v2/tsigkeys/${id}`);
    else if (how === 'rotated')
      await service.post(`/v2/tsigkeys/${id}/rotate`, { strategy: 'in_place' });
    else {
      await service.post(`/v2/tsigkeys/${id}/rotate`, {});
      expect((await service.post(`/v2/tsigkeys/${id}/retire`, {}, force)).status).toBe(200);
    }
    expectGone(await open(path), 'The key of this link has changed or is gone');
    if (how !== 'retired') return;
    expect((await service.post(`/v2/tsigkeys/${id}/restore`, {})).status).toBe(200);
    expectGone(await open(path), 'The key of this link has changed or is gone');
  });

  test('404 for the oldest of more than a hundred links to a key', async () => {
    const { id } = await createKey();
    const paths: string[] = [];
    for (let at = 0; at < 101; at += 1) {
      paths.push(await share(id));
      if (at === 1) expect((await open(paths[1] ?? '')).status).toBe(200);
    }
    expect((await look(paths[1] ?? '')).status).toBe(404); // it was opened, so it goes first
    expect((await look(paths[0] ?? '')).status).toBe(200);
    await share(id);
    expect((await look(paths[0] ?? '')).status).toBe(404);
    expect((await open(paths[2] ?? '')).status).toBe(200);
  });

  test('rows of links that expired a week ago are deleted', async () => {
    const folder = temporaryFolder();
    const url = await testDatabase(folder);
    let offset = 0;
    const other = await startTestService(
      { TSIGIL_DATABASE_URL: url },
      { folder, clock: createClock(() => Date.now() + offset), sessionCleanUpMs: 20 },
    );
    const key = { name: 'k', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL_ID };
    const { id } = (await other.post('/v2/tsigkeys', key)).body;
    for (const seconds of [60, 3600]) {
      const link = { format: 'bind', expires_seconds: seconds };
      const { body } = await other.post(`/v2/tsigkeys/${id}/share`, link);
      recordSecret(String(body.url).slice(-43));
    }
    offset = 7 * 86_400_000 + 120_000;
    await expect
      .poll(async () => (await queryDatabase(url, 'SELECT id FROM tsigkey_shares')).length)
      .toBe(1);
  });

  test('404 after it was withdrawn', async () => {
    const { id } = await createKey();
    const [one, other] = [await share(id), await share(id)];
    expect((await open(one)).status).toBe(200);
    const withdrawn = await service.post(`/v2/tsigkeys/${id}/unshare`, {});
    expect(withdrawn.body).toEqual({ count: 1 });
    expect((await open(other)).status).toBe(404);
    expectGone(await open(one), 'This link was opened already, and works only once');
  });

  test('is in the audit trail: who created it, and from where it was opened', async () => {
    const { id, name } = await createKey();
    await open(await share(id));
    const { body } = await service.get(`/v2/audit?resource_id=${id}&limit=100`);
    const records = body.records as Record<string, unknown>[];
    const [opened, created] = records.toSorted((one, other) => Number(other.seq) - Number(one.seq));
    expect(created).toMatchObject({ action: 'tsigkeys:share', resource_name: name });
    expect(opened).toMatchObject({
      action: 'tsigkey.link.opened',
      actor_kind: 'link',
      source: '127.0.0.1',
      resource_name: name,
    });
  });

  test('401 without the right to share', async () => {
    const { id } = await createKey();
    const reader = await tokenWith(service, { roles: ['reader'] });
    const response = await reader.post(`/v2/tsigkeys/${id}/share`, { format: 'bind' });
    expect(response.status).toBe(401);
  });

  test('404 for a key outside the limits of the token', async () => {
    const { id } = await createKey();
    const estate = await createEstate(service);
    const limited = await tokenWith(service, { roles: ['admin'], keys: [estate.poolKeys[0]] });
    const response = await limited.post(`/v2/tsigkeys/${id}/share`, { format: 'bind' });
    expect(response.status).toBe(404);
  });

  test.each([
    [{}, 400],
    [{ format: 'none' }, 400],
    [{ format: 'bind', expires_seconds: 59 }, 400],
    [{ format: 'bind', expires_seconds: 604_801 }, 400],
    [{ format: 'bind', primary: '192.0.2.1' }, 400],
    [{ format: 'bind', for: 'secondary' }, 400],
  ])('refuses %o with %i', async (body, status) => {
    const { id } = await createKey();
    expect((await service.post(`/v2/tsigkeys/${id}/share`, body)).status).toBe(status);
  });
});
