import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashToken } from '../../src/core/token-hash.ts';
import { createClock } from '../../src/clock.ts';
import { queryDatabase } from '../harness/audit.ts';
import { recordSecret } from '../harness/evidence.ts';
import { cookieAt, SAME_ORIGIN, signIn, type Browser } from '../harness/console.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const KEY = { name: 'xfr', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

async function tokenOf(members: object = {}, from = service) {
  const body = { name: `t-${Math.random()}`, roles: ['admin'], ...members };
  return (await from.post('/v2/tokens', body)).body;
}

describe('a session of the console', () => {
  test('201 with a cookie for this host only, and 200 for later requests with it', async () => {
    const { token, id, name } = await tokenOf();
    const browser = await signIn(service, { method: 'token', token });
    expect(browser.opened.status).toBe(201);
    const { port } = new URL(service.url);
    expect(browser.opened.headers.get('set-cookie')).toMatch(
      new RegExp(`^tsigil-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    );
    expect(browser.opened.body).toMatchObject({
      caller: { id, name, roles: ['admin'], project_id: null, all_projects: true },
      idle_seconds: 1800,
    });
    expect(browser.opened.body.rights).toContain('tsigkeys:reveal');
    expect(browser.opened.body.rights).not.toContain('nameservers:desired');
    expect((await browser.call('GET', '/console/session')).body.caller.id).toBe(id);
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(200);
    expect((await browser.call('POST', '/v2/tlds', { name: 'org' })).status).toBe(201);
  });

  test.each([
    ['another origin', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling subdomain', { 'sec-fetch-site': 'same-site' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['a browser without Fetch metadata', { 'sec-fetch-site': '' }],
  ])('401 for the cookie from %s', async (_, headers) => {
    const browser = await signIn(service);
    for (const [method, path] of [
      ['GET', '/v2/tlds'],
      ['DELETE', '/console/session'],
      ['GET', '/console/session'],
    ] as const)
      expect((await browser.call(method, path, undefined, headers)).status).toBe(401);
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(200);
  });

  test('401 with the reason, and no cookie, for a sign-in without TLS at a public name', async () => {
    const proxied = await startTestService({ TSIGIL_API_TRUST_PROXY_HEADERS: 'true' });
    const at = (scheme: string) =>
      signIn(proxied, undefined, {
        'x-forwarded-proto': scheme,
        'x-forwarded-host': 'console.example',
      });
    const { opened } = await at('http');
    expect([opened.status, opened.headers.get('set-cookie')]).toEqual([401, null]);
    expect(opened.body).toMatchObject({
      secure: false,
      reason: expect.stringContaining('tls.cert') as string,
    });
    const secure = await at('https');
    expect(secure.cookie).toMatch(/^__Host-tsigil=/);
    expect((await secure.call('GET', '/v2/tlds')).status).toBe(200);
  });

  test('415 for a form, even from a page of the service', async () => {
    const browser = await signIn(service);
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await browser.call('POST', '/v2/tlds', 'name=net', type)).status).toBe(415);
    expect((await browser.call('POST', '/console/session', 'method=token', type)).status).toBe(415);
  });

  test('401 for an unknown token in a header beside a valid cookie, for the cookie as a token, and for two cookies of the name', async () => {
    const browser = await signIn(service);
    const [, value = ''] = browser.cookie.split('=');
    const unknown = { 'x-auth-token': 'unknown' };
    expect((await browser.call('GET', '/v2/tlds', undefined, unknown)).status).toBe(401);
    expect((await service.with(value).get('/v2/tlds')).status).toBe(401);
    const pasted = { method: 'token', token: `session\n${value}` };
    expect((await signIn(service, pasted)).opened.status).toBe(401);
    // No other page can slip one in.
    const cookie = `${browser.cookie}; ${browser.cookie}`;
    expect((await browser.call('GET', '/v2/tlds', undefined, { cookie })).status).toBe(401);
  });

  test('each sign-in gives another cookie, ignores a given one, and ends the session before it', async () => {
    const planted = 'A'.repeat(43);
    const { port } = new URL(service.url);
    const cookie = `tsigil-${port}=${planted}`;
    const first = await signIn(service, undefined, { cookie });
    expect(first.cookie).not.toContain(planted);
    const second = await service.post(
      '/console/session',
      { method: 'token', token: service.token },
      { ...SAME_ORIGIN, cookie: first.cookie },
    );
    expect(second.status).toBe(201);
    expect(second.headers.get('set-cookie')).not.toContain(first.cookie);
    expect((await first.call('GET', '/v2/tlds')).status).toBe(401);
    const { records } = (await service.get('/v2/audit?action=sessions:create')).body;
    const [latest, earlier] = records;
    expect(latest.detail).toEqual({ ended: [earlier.resource_id] });
  });

  test('204 for the sign-out, after which the cookie opens nothing', async () => {
    const browser = await signIn(service);
    const response = await browser.call('DELETE', '/console/session');
    expect(response.status).toBe(204);
    expect(response.headers.get('set-cookie')).toMatch(/^tsigil-\d+=; Max-Age=0;/);
    expect(response.headers.get('clear-site-data')).toBe('"storage"');
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(401);
  });

  test('401 as soon as the token is deleted, and outside its addresses', async () => {
    const { token, id } = await tokenOf();
    const browser = await signIn(service, { method: 'token', token });
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(200);
    await service.delete(`/v2/tokens/${id}`);
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(401);
    const elsewhere = await tokenOf({ addresses: ['192.0.2.1'] });
    const refused = await signIn(service, { method: 'token', token: elsewhere.token });
    expect(refused.opened.status).toBe(401);
  });

  test('ten sessions of one token, of which a further one ends the oldest', async () => {
    const other = await startTestService();
    const browsers: Browser[] = [];
    const { token } = await tokenOf({}, other);
    for (let at = 0; at < 10; at += 1)
      browsers.push(await signIn(other, { method: 'token', token }));
    const statuses = async () =>
      Promise.all(browsers.map(async ({ call }) => (await call('GET', '/v2/tlds')).status));
    expect(await statuses()).toEqual(Array(10).fill(200));
    await other.close();
    const again = await startTestService({}, { folder: other.folder });
    const last = await signIn(again, { method: 'token', token });
    expect(last.opened.status).toBe(201);
    const later = await Promise.all(
      browsers.map(async ({ cookie }) => {
        const headers = { ...SAME_ORIGIN, cookie: cookieAt(again, cookie) };
        return (await again.get('/v2/tlds', headers)).status;
      }),
    );
    expect(later).toEqual([401, ...Array(9).fill(200)]);
  });

  test('401 with one message for every cause, counted in the audit trail without the token', async () => {
    const other = await startTestService({}, { auditIntervalMs: 20 });
    const unknown = `tsigil_${'x'.repeat(43)}`;
    for (const body of [
      { method: 'token', token: unknown },
      { method: 'token' },
      { method: 'code', code: 'x' },
    ]) {
      const { opened } = await signIn(other, body);
      expect([opened.status, opened.body.message]).toEqual([401, 'Sign-in failed.']);
    }
    await signIn(other);
    await expect
      .poll(async () => (await other.get('/v2/audit?action=sessions:create')).body.records)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ outcome: 'denied', source: '127.0.0.1' }),
          expect.objectContaining({ outcome: 'success', actor_name: 'admin' }),
        ]),
      );
    expect((await other.get('/v2/audit')).text).not.toContain(unknown);
  });

  test('429 after ten sign-ins a minute from an address', async () => {
    const other = await startTestService();
    const failing = { method: 'token', token: 'not-a-token' };
    for (let at = 0; at < 5; at += 1) {
      expect((await signIn(other, failing)).opened.status).toBe(401);
      expect((await signIn(other)).opened.status).toBe(201);
    }
    const { opened } = await signIn(other);
    expect(opened.status).toBe(429);
    expect(Number(opened.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('404 for every path of the console if it is disabled, and 401 for its cookies', async () => {
    const enabled = await startTestService();
    const { cookie } = await signIn(enabled);
    await enabled.close();
    const other = await startTestService(
      { TSIGIL_CONSOLE_ENABLED: 'false' },
      { folder: enabled.folder },
    );
    for (const path of ['/console', '/console/keys', '/console/session', '/console/assets/x.js'])
      expect((await other.get(path)).status).toBe(404);
    expect((await signIn(other)).opened.status).toBe(404);
    const headers = { ...SAME_ORIGIN, cookie: cookieAt(other, cookie) };
    expect((await other.get('/v2/tlds', headers)).status).toBe(401);
  });
});

describe('a code for a session', () => {
  const code = async (token = service.token): Promise<string> => {
    const { status, body } = await service.with(token).post('/console/code', {});
    expect(status).toBe(201);
    return String(body.code);
  };

  test('201 once, for the caller that asked for the code', async () => {
    const { token, id } = await tokenOf();
    const given = await code(token);
    const browser = await signIn(service, { method: 'code', code: given });
    expect([browser.opened.status, browser.opened.body.caller?.id]).toEqual([201, id]);
    expect((await signIn(service, { method: 'code', code: given })).opened.status).toBe(401);
    const ofAdmin = await signIn(service, { method: 'code', code: await code() });
    expect(ofAdmin.opened.body.caller?.id).toBe('configured');
    expect((await ofAdmin.call('GET', '/v2/tlds')).status).toBe(200);
  });

  test('401 after a minute, for a session, without a token, and as the cookie of a session', async () => {
    let offset = 0;
    const late = await startTestService(
      {},
      { clock: createClock(() => Date.now() + offset * 1000) },
    );
    const { body } = await late.post('/console/code', {});
    const { port } = new URL(late.url);
    const cookie = `tsigil-${port}=${body.code}`;
    expect((await late.get('/v2/tlds', { ...SAME_ORIGIN, cookie })).status).toBe(401);
    offset = 61;
    expect((await signIn(late, { method: 'code', code: body.code })).opened.status).toBe(401);
    const browser = await signIn(late);
    expect((await browser.call('POST', '/console/code', {})).status).toBe(401);
    expect((await late.with('unknown').post('/console/code', {})).status).toBe(401);
  });

  test('401 if the token was deleted meanwhile', async () => {
    const { token, id } = await tokenOf();
    const given = await code(token);
    await service.delete(`/v2/tokens/${id}`);
    expect((await signIn(service, { method: 'code', code: given })).opened.status).toBe(401);
  });
});

describe('/v2/sessions', () => {
  test("200 with one's own sessions, or all for an administrator", async () => {
    const reader = await tokenOf({ roles: ['reader'], project_id: 'p' });
    const own = await signIn(service, { method: 'token', token: reader.token });
    await signIn(service);
    await service.post('/console/code', {});
    const { body } = await own.call('GET', '/v2/sessions');
    expect(body.sessions).toMatchObject([
      {
        kind: 'token',
        credential_id: reader.id,
        name: reader.name,
        address: '127.0.0.1',
        current: true,
      },
    ]);
    expect(JSON.stringify(body)).not.toContain('hash');
    const all = (await service.get('/v2/sessions')).body.sessions;
    expect(all.map(({ kind }: { kind: string }) => kind)).toEqual(['configured', 'token']);
  });

  test('204 for a session of the caller, or of anyone for an administrator, else 404', async () => {
    const reader = await tokenOf({ roles: ['reader'], project_id: 'p' });
    const [one, two] = [
      await signIn(service, { method: 'token', token: reader.token }),
      await signIn(service),
    ];
    const [ofAdmin, ofReader] = (await service.get('/v2/sessions')).body.sessions;
    const end = (id: string, token: string) => service.with(token).delete(`/v2/sessions/${id}`);
    const refused = await end(ofAdmin.id, reader.token);
    expect([refused.status, refused.body.type]).toEqual([404, 'session_not_found']);
    const auditor = await tokenOf({ roles: ['auditor'] });
    expect((await service.with(auditor.token).get('/v2/sessions')).body.sessions).toHaveLength(2);
    const denied = await end(ofReader.id, auditor.token);
    expect([denied.status, denied.body.message]).toEqual([
      401,
      "Access denied: the right 'tokens:delete' needs the role admin",
    ]);
    expect((await end(ofReader.id, reader.token)).status).toBe(204);
    expect((await one.call('GET', '/v2/whoami')).status).toBe(401);
    expect((await end(ofAdmin.id, service.token)).status).toBe(204);
    expect((await two.call('GET', '/v2/whoami')).status).toBe(401);
    expect((await end(ofAdmin.id, service.token)).status).toBe(404);
  });
});

describe('the limits of time', () => {
  /** A service whose clock the test sets, in seconds after its start. */
  async function startAt(variables: Record<string, string> = {}) {
    let offset = 0;
    const clock = createClock(() => Date.now() + offset * 1000);
    const service = await startTestService(variables, { clock });
    return { service, later: (seconds: number) => (offset += seconds) };
  }

  test('403 for secrets and new tokens with a sign-in of more than 15 minutes ago, if so configured', async () => {
    const { service, later } = await startAt({ TSIGIL_CONSOLE_CONFIRM_REVEAL: 'recent' });
    const { id } = (await service.post('/v2/tsigkeys', KEY)).body;
    const requests = [
      ['POST', `/v2/tsigkeys/${id}/reveal`, {}],
      ['GET', `/v2/tsigkeys/${id}/export?format=bind`],
      ['POST', '/v2/tokens', { name: 'another', roles: ['reader'] }],
    ] as const;
    const browser = await signIn(service);
    const statuses = async () =>
      Promise.all(requests.map(async ([method, path, body]) => browser.call(method, path, body)));
    later(890);
    const recent = await statuses();
    expect(recent.map(({ status }) => status)).toEqual([200, 200, 201]);
    recordSecret(String(recent[2]?.body.token));
    later(20);
    for (const { status, body } of await statuses())
      expect([status, body.type]).toEqual([403, 'sign_in_again']);
    expect((await browser.call('GET', `/v2/tsigkeys/${id}`)).status).toBe(200);
    expect((await service.post(`/v2/tsigkeys/${id}/reveal`, {})).status).toBe(200);
    const again = await signIn(service, undefined, { cookie: browser.cookie });
    expect((await again.call('POST', `/v2/tsigkeys/${id}/reveal`, {})).status).toBe(200);
  });

  test('401 after half an hour without a request of a person', async () => {
    const { service, later } = await startAt();
    const browser = await signIn(service);
    for (let at = 0; at < 3; at += 1) {
      later(1700);
      expect((await browser.call('GET', '/v2/tlds')).status).toBe(200);
    }
    later(1000);
    const background = { 'x-tsigil-background': '1' };
    expect((await browser.call('GET', '/v2/tlds', undefined, background)).status).toBe(200);
    later(900);
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(401);
  });

  test('401 twelve hours after the sign-in, whatever happened since', async () => {
    const { service, later } = await startAt();
    const browser = await signIn(service);
    const { absolute_at: end } = browser.opened.body.expires;
    expect(Date.parse(`${end}Z`) - Date.now()).toBeGreaterThan(43_100_000);
    for (let at = 0; at < 42; at += 1) {
      later(1000);
      expect((await browser.call('GET', '/v2/tlds')).status).toBe(200);
    }
    const shown = (await browser.call('GET', '/console/session')).body.expires;
    expect(shown).toEqual({ idle_at: end, absolute_at: end });
    later(1201);
    expect((await browser.call('GET', '/v2/tlds')).status).toBe(401);
  });
});

describe('secrets', () => {
  test('no response to a session has a secret, except creation, reveal and export', async () => {
    const browser = await signIn(service);
    const { id, secret } = (await browser.call('POST', '/v2/tsigkeys', KEY)).body;
    expect(secret).toMatch(/=$/);
    const changed = await browser.call('PATCH', `/v2/tsigkeys/${id}`, { name: 'xfr2' });
    const rotated = await browser.call('POST', `/v2/tsigkeys/${id}/rotate`, {});
    expect([changed.status, rotated.status]).toEqual([200, 201]);
    for (const { text } of [changed, rotated]) expect(text).not.toContain('"secret"');
    const { paths } = (await service.get('/openapi.json')).body;
    let seen = 0;
    for (const [path, operations] of Object.entries<Record<string, unknown>>(paths)) {
      if (operations.get === undefined || path.endsWith('/export')) continue;
      const response = await browser.call('GET', path.replace(/\{\w+\}/, id));
      seen += 1;
      expect(response.text, path).not.toContain(secret);
    }
    expect(seen).toBeGreaterThan(20);
    const revealed = await browser.call('POST', `/v2/tsigkeys/${id}/reveal`);
    expect([revealed.status, revealed.body]).toEqual([200, { secret }]);
    const exported = await browser.call('GET', `/v2/tsigkeys/${id}/export?format=bind`);
    expect(exported.text).toContain(secret);
    const path = `/v2/audit?resource_id=${id}&action=tsigkeys:reveal`;
    const { records } = (await service.get(path)).body;
    expect(records).toMatchObject([{ actor_id: 'configured', resource_name: 'xfr2' }]);
  });
});

describe('the rows of the database', () => {
  let folder: string;
  let url: string;
  beforeEach(async () => {
    folder = temporaryFolder();
    url = await testDatabase(folder);
    await start();
  });

  async function start(variables = {}, more = {}): Promise<void> {
    service = await startTestService(
      { TSIGIL_DATABASE_URL: url, ...variables },
      { folder, ...more },
    );
  }

  /** Runs a statement as another program would. */
  async function tamper(statement: string): Promise<void> {
    await service.close();
    if (url.startsWith('postgres')) await queryDatabase(url, statement);
    else {
      const database = new DatabaseSync(url.slice('sqlite:'.length));
      database.exec(statement);
      database.close();
    }
    await start();
  }

  async function statusOf(cookie: string): Promise<number> {
    const headers = { ...SAME_ORIGIN, cookie: cookieAt(service, cookie) };
    return (await service.get('/v2/whoami', headers)).status;
  }

  test('neither the cookie nor the administrator token is in the database', async () => {
    const { cookie } = await signIn(service);
    const [, value = ''] = cookie.split('=');
    const stored = JSON.stringify(await queryDatabase(url, 'SELECT * FROM sessions'));
    expect(stored).toContain(hashToken(value));
    for (const text of [value, service.token, hashToken(service.token)])
      expect(stored).not.toContain(text);
  });

  test('200 for a session of the administrator token after a restart, 401 after a change of that token', async () => {
    const token = 'an-administrator-token-of-this-test';
    const configured = { TSIGIL_ADMIN_TOKEN: token };
    await service.close();
    await start(configured);
    const { cookie } = await signIn(service);
    await service.close();
    await start(configured);
    expect(await statusOf(cookie)).toBe(200);
    await service.close();
    await start();
    expect(await statusOf(cookie)).toBe(401);
  });

  test('401 for an inserted session, and after a change of any column but seen_at', async () => {
    const reader = await tokenOf({ roles: ['reader'], project_id: 'p' });
    const admin = await tokenOf();
    const later = '2099-01-01T00:00:00.000000';
    const changes: Record<string, string> = {
      purpose: "'code'",
      hash: `'${hashToken('B'.repeat(43))}'`,
      kind: "'configured'",
      credential_id: `'${admin.id}'`,
      name: "'other'",
      sealed_token: "'x'",
      address: "'192.0.2.1'",
      agent: "'other'",
      expires_at: `'${later}'`,
      mac: 'NULL',
    };
    for (const [column, value] of Object.entries({ ...changes, seen_at: `'${later}'` })) {
      const { cookie, opened } = await signIn(service, { method: 'token', token: reader.token });
      expect(opened.status).toBe(201);
      await tamper(`UPDATE sessions SET ${column} = ${value}`);
      const own = column === 'hash' ? `tsigil-1=${'B'.repeat(43)}` : cookie;
      expect([column, await statusOf(own)]).toEqual([column, column === 'seen_at' ? 200 : 401]);
      await tamper('DELETE FROM sessions');
    }
    await signIn(service, { method: 'token', token: reader.token });
    const columns =
      'purpose, kind, name, sealed_token, address, agent, expires_at, seen_at, created_at';
    await tamper(
      `INSERT INTO sessions (id, hash, credential_id, mac, ${columns}) SELECT '${admin.id}', '${hashToken('C'.repeat(43))}', '${admin.id}', mac, ${columns} FROM sessions`,
    );
    expect(await statusOf(`tsigil-1=${'C'.repeat(43)}`)).toBe(401);
    expect(service.log.join('')).toContain('Refused a session of the console');
    const { forged } = (await service.post('/v2/encryption/verify', undefined)).body;
    expect(forged).toEqual([{ collection: 'sessions', id: admin.id }]);
  });

  test('rows of sessions that have ended are deleted', async () => {
    let offset = 0;
    await service.close();
    const clock = createClock(() => Date.now() + offset * 1000);
    await start({}, { clock, sessionCleanUpMs: 20 });
    await signIn(service);
    offset = 2000;
    const { cookie } = await signIn(service);
    await expect
      .poll(async () => (await queryDatabase(url, 'SELECT hash FROM sessions')).length)
      .toBe(1);
    expect(await statusOf(cookie)).toBe(200);
  });
});
