import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { queryDatabase } from '../harness/audit.ts';
import { signIn } from '../harness/console.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Keystone } from '../harness/keystone.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { start, startBehindGateway, startCloud, type Cloud } from './keystone-cloud.ts';

const ISSUE = 'POST /v3/auth/tokens';
const REVOKE = 'DELETE /v3/auth/tokens';

describe.runIf(hasProgram('keystone-manage', 'keystone'))('signing in with Keystone', () => {
  let cloud: Cloud;
  let keystone: Keystone;
  const passwords = new Map<string, string>();
  const sign = (service: TestService, user: string, members: object = {}) =>
    signIn(service, {
      method: 'keystone',
      user,
      user_domain: 'Default',
      password: passwords.get(user),
      ...members,
    });

  beforeAll(async () => {
    cloud = await startCloud();
    ({ keystone } = cloud);
    for (const [user, projects] of [
      ['ada', ['one']],
      ['grace', ['one', 'two']],
      ['emmy', ['one', 'two']],
    ] as const)
      for (const project of projects)
        passwords.set(user, await keystone.createUser(user, 'admin', { project }));
    passwords.set('nobody', await keystone.createUser('nobody', 'admin', 'domain'));
  }, 300_000);

  test('201 for a user with one project, until the sign-out, which revokes the token', async () => {
    const [service, gateway] = await startBehindGateway(cloud);
    const browser = await sign(service, 'ada');
    expect(browser.opened.status).toBe(201);
    expect(browser.opened.body.caller).toMatchObject({
      name: 'ada',
      project_id: cloud.projectIds[0],
    });
    const hours = Date.parse(`${browser.opened.body.expires.absolute_at}Z`) - Date.now();
    expect(hours).toBeLessThan(3600_000); // the token of Keystone is valid for an hour
    const zone = { name: 'example.org.', email: 'hostmaster@example.org' };
    expect((await browser.call('POST', '/v2/zones', zone)).status).toBe(201);
    expect((await browser.call('DELETE', '/console/session')).status).toBe(204);
    expect(gateway.count(REVOKE)).toBe(1);
    const token = String(gateway.passed.at(-1)?.headers['x-subject-token']);
    const { status } = await fetch(`${keystone.url}/v3/auth/tokens`, {
      headers: { 'x-auth-token': await cloud.issue(), 'x-subject-token': token },
    });
    expect(status).toBe(404);
    expect((await browser.call('GET', '/v2/zones')).status).toBe(401);
  });

  test('200 with the projects of a user, then 201 for one of them without the password', async () => {
    const service = await start(cloud.variables());
    const { opened } = await sign(service, 'grace');
    expect([opened.status, opened.headers.get('set-cookie')]).toEqual([200, null]);
    const [one, two] = cloud.projectIds;
    expect(opened.body.projects).toEqual([
      { id: one, name: 'one', domain_id: 'default' },
      { id: two, name: 'two', domain_id: 'default' },
    ]);
    const { code } = opened.body;
    const chosen = await signIn(service, { method: 'keystone', code, project: two });
    expect([chosen.opened.status, chosen.opened.body.caller.project_id]).toEqual([201, two]);
    const again = await signIn(service, { method: 'keystone', code, project: one });
    expect(again.opened.status).toBe(401);
    const direct = await sign(service, 'grace', { project: one });
    expect([direct.opened.status, direct.opened.body.caller.project_id]).toEqual([201, one]);
  });

  test('401 passcode_required for a user with a second factor, then 201 with the passcode', async () => {
    const passcode = await keystone.requirePasscode('emmy');
    const service = await start(cloud.variables());
    const refused = (await sign(service, 'emmy')).opened;
    expect([refused.status, refused.body.type]).toEqual([401, 'passcode_required']);
    const wrong = (await sign(service, 'emmy', { passcode: '000000' })).opened;
    expect([wrong.status, wrong.body.message]).toEqual([401, 'Sign-in failed.']);
    const { opened } = await sign(service, 'emmy', { passcode: passcode() });
    expect(opened.status).toBe(200);
    const { code } = opened.body;
    const [project] = cloud.projectIds;
    const browser = await signIn(service, { method: 'keystone', code, project });
    expect(browser.opened.status).toBe(201);
  });

  test('401 with one message for every cause, and without the password in the audit trail', async () => {
    const service = await startTestService(cloud.variables(), { auditIntervalMs: 20 });
    onTestFinished(() => service.close());
    for (const members of [
      { password: 'a-wrong-password' },
      { user: 'unknown' },
      { user_domain: 'unknown' },
      { password: undefined },
      { project: cloud.projectIds[1] },
      { user: 'nobody', password: passwords.get('nobody') },
    ]) {
      const { opened } = await sign(service, 'ada', members);
      expect([opened.status, opened.body.message]).toEqual([401, 'Sign-in failed.']);
    }
    const { opened } = await signIn(service, { method: 'keystone', code: 'x', project: 'y' });
    expect([opened.status, opened.body.message]).toEqual([401, 'Sign-in failed.']);
    await expect
      .poll(async () => (await service.get('/v2/audit?action=sessions:create')).body.records)
      .toEqual(expect.arrayContaining([expect.objectContaining({ outcome: 'denied' })]));
    const shown = [(await service.get('/v2/audit')).text, service.log.join('')];
    for (const secret of ['a-wrong-password', ...passwords.values()])
      expect(shown.join('')).not.toContain(secret);
  });

  test('429 after five failures of a user, whatever the case of the name, and not of another', async () => {
    const [service, gateway] = await startBehindGateway(cloud);
    const statuses: number[] = [];
    for (const user of ['ada', 'ADA', 'ada', 'Ada', 'ada', 'ada', 'aDa'])
      statuses.push((await sign(service, user, { password: 'wrong' })).opened.status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(gateway.count(ISSUE)).toBe(5);
    expect((await sign(service, 'grace')).opened.status).toBe(200);
  });

  test('401 for the session once its token is revoked, and the row alone does not contain the token', async () => {
    const gateway = await startGateway(keystone.url);
    onTestFinished(() => gateway.close());
    const url = await testDatabase(temporaryFolder());
    const service = await startTestService(
      Object.assign(cloud.variables({ URL: gateway.url, CACHE_SECONDS: '0' }), {
        TSIGIL_DATABASE_URL: url,
      }),
    );
    onTestFinished(() => service.close());
    const browser = await sign(service, 'ada');
    expect((await browser.call('GET', '/v2/zones')).status).toBe(200);
    const token = String(gateway.passed.at(-1)?.headers['x-subject-token']);
    await expect
      .poll(async () => queryDatabase(url, 'SELECT kind, issued FROM sessions'))
      .toEqual([{ kind: 'keystone', issued: 1 }]);
    const rows = await queryDatabase(url, 'SELECT * FROM sessions');
    expect(JSON.stringify(rows)).not.toContain(token);
    await keystone.revoke(token);
    expect((await browser.call('GET', '/v2/zones')).status).toBe(401);
  });

  test('204 for the sign-out with a token of the person, which is not revoked', async () => {
    const [service, gateway] = await startBehindGateway(cloud);
    const browser = await signIn(service, { method: 'token', token: await cloud.issue() });
    expect(browser.opened.status).toBe(201);
    expect((await browser.call('DELETE', '/console/session')).status).toBe(204);
    expect(gateway.count(REVOKE)).toBe(0);
  });

  test('201 for a further sign-in in the same browser, which revokes the token of the former session', async () => {
    const [service, gateway] = await startBehindGateway(cloud);
    const browser = await sign(service, 'ada');
    const again = await browser.call('POST', '/console/session', {
      method: 'keystone',
      user: 'ada',
      user_domain: 'Default',
      password: passwords.get('ada'),
    });
    expect(again.status).toBe(201);
    await expect.poll(() => gateway.count(REVOKE)).toBe(1);
    expect((await browser.call('GET', '/v2/zones')).status).toBe(401);
    const [cookie = ''] = (again.headers.get('set-cookie') ?? '').split(';');
    expect((await browser.call('GET', '/v2/zones', undefined, { cookie })).status).toBe(200);
  });

  test('204 for the sign-out while Keystone is unavailable, with a line in the log', async () => {
    const [service, gateway] = await startBehindGateway(cloud);
    const browser = await sign(service, 'ada');
    gateway.behave(() => 503);
    expect((await browser.call('DELETE', '/console/session')).status).toBe(204);
    gateway.behave(() => 'pass');
    expect((await browser.call('GET', '/v2/zones')).status).toBe(401);
    expect(service.log.join('')).toContain('its Keystone token could not be revoked');
  });
});
