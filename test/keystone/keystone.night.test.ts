import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TOKEN_PREFIX } from '../../src/core/text/token-form.ts';
import { queryDatabase } from '../harness/audit.ts';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { signIn } from '../harness/console.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Keystone } from '../harness/keystone.ts';
import { startTestService, temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { authenticationContract } from '../tokens/contract.ts';
import {
  PROJECTS,
  start,
  startBehindGateway,
  startCloud,
  statusOf,
  type Cloud,
} from './keystone-cloud.ts';

const VALIDATION = 'GET /v3/auth/tokens';
const LOGIN = 'POST /v3/auth/tokens';

const installed = hasProgram('keystone-manage', 'keystone');

describe.runIf(installed)('keystone', () => {
  let cloud: Cloud;
  let keystone: Keystone;
  let issue: Cloud['issue'];
  let variables: Cloud['variables'];
  beforeAll(async () => {
    cloud = await startCloud();
    ({ keystone, issue, variables } = cloud);
  }, 180_000);

  const startBehind = (...[settings, credentials]: Parameters<Cloud['variables']>) =>
    startBehindGateway(cloud, settings, credentials);

  for (const [name, credentials] of Object.entries({
    'Keystone tokens, validated by the service user': () => cloud.withPassword,
    'Keystone tokens, validated with themselves as authority': () => ({}),
  })) {
    authenticationContract(name, async () => ({
      variables: variables({}, credentials()),
      projects: cloud.projectIds,
      challenges: {
        unknownCaller: `Keystone uri="${keystone.url}"`,
        missingRight: `Keystone uri="${keystone.url}"`,
      },
      issue: (_service, role, project) => issue(role, PROJECTS[project]),
      issueExpired: async () => cloud.expired,
      async issueRevoked() {
        const token = await issue();
        await keystone.revoke(token);
        return token;
      },
    }));
  }

  describe('token scopes', () => {
    test('200 for a system administrator, and 401 missing_project_id for creating a zone', async () => {
      const service = await start(variables());
      const client = service.with(await keystone.token('admin-system', 'system'));
      expect((await client.get('/v2/tlds')).status).toBe(200);
      const { status, body } = await client.post('/v2/zones', {
        name: 'example.org.',
        email: 'hostmaster@example.org',
      });
      expect([status, body.type]).toEqual([401, 'missing_project_id']);
      expect((await client.get('/v2/zones', { 'x-auth-all-projects': 'true' })).status).toBe(200);
    });

    test('200 if the policy names a role with its scope, 401 for the same role in another scope', async () => {
      const service = await start({
        ...variables(),
        TSIGIL_POLICY: '{"tlds:list": ["system:reader", "domain:admin"]}',
      });
      const systemReader = await keystone.token('reader-system', 'system');
      const domainAdmin = await keystone.token('admin-domain', 'domain');
      const statuses = [systemReader, domainAdmin, await issue('reader'), await issue('admin')].map(
        (token) => statusOf(service, token),
      );
      expect(await Promise.all(statuses)).toEqual([200, 200, 401, 401]);
    });

    test('401 for a token of an application credential with access rules, 200 without access rules', async () => {
      const { id, secret } = await keystone.createApplicationCredential('admin-one', 'one', [
        { path: '/v2/zones', method: 'GET', service: 'dns' },
      ]);
      const restricted = await keystone.tokenOfApplicationCredential(id, secret);
      for (const credentials of [cloud.withPassword, cloud.withApplicationCredential, {}])
        expect(await statusOf(await start(variables({}, credentials)), restricted)).toBe(401);
      const whole = await keystone.createApplicationCredential('admin-one', 'one');
      const service = await start(variables({}, cloud.withApplicationCredential));
      expect(
        await statusOf(
          service,
          await keystone.tokenOfApplicationCredential(whole.id, whole.secret),
        ),
      ).toBe(200);
    });
  });

  test('403 without the right if Keystone is the only method, 401 if the service also accepts Tsigil tokens', async () => {
    const byMethod = (method: string) =>
      start({
        ...variables(),
        TSIGIL_AUTH_METHOD: method,
        TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '',
      });
    const statuses = ['keystone', '[tokens, keystone]'].map(async (method) =>
      statusOf(await byMethod(method), await issue('reader')),
    );
    expect(await Promise.all(statuses)).toEqual([403, 401]);
  });

  describe('tokens of other methods', () => {
    test('200 or 401 from the method that issued the token, without a request to any other method', async () => {
      const gateway = await startGateway(keystone.url);
      onTestFinished(() => gateway.close());
      const both = {
        ...variables({ URL: gateway.url, PUBLIC_URL: 'https://keystone.example/' }),
        TSIGIL_AUTH_METHOD: '[keystone, tokens]',
      };
      const service = await start(both);
      const { body } = await service.post('/v2/tokens', { name: 'own', roles: ['admin'] });
      expect(await statusOf(service, body.token)).toBe(200);
      await service.delete(`/v2/tokens/${body.id}`);
      const { status, headers } = await service.with(body.token).get('/v2/tlds');
      expect([status, headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer, Keystone uri="https://keystone.example"',
      ]);
      expect(await statusOf(service, 'tsigil_nobody')).toBe(401);
      expect(await statusOf(service, '')).toBe(401);
      expect(gateway.passed).toEqual([]);
      expect(await statusOf(service, await issue())).toBe(200);
      expect(gateway.count(VALIDATION)).toBe(1);
    });

    test('401 for a Tsigil token if Keystone is the only method, 200 for adminToken', async () => {
      const [service, gateway] = await startBehind();
      const refused = await service.post('/v2/tokens', { name: 'own', roles: ['admin'] });
      expect(refused.status).toBe(400);
      expect(await statusOf(service, `${TOKEN_PREFIX}${'A'.repeat(43)}`)).toBe(401);
      expect(await statusOf(service, service.token)).toBe(200);
      expect(gateway.passed).toEqual([]);
    });
  });

  describe('token cache', () => {
    test('200 for concurrent and later requests after one validation', async () => {
      const [service, gateway] = await startBehind();
      const token = await issue();
      const statuses = await Promise.all(
        Array.from({ length: 40 }, () => statusOf(service, token)),
      );
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await statusOf(service, token)).toBe(200);
      expect([gateway.count(VALIDATION), gateway.count(LOGIN)]).toEqual([1, 1]);
      const { text } = await service.get('/metrics');
      expect(text).toContain(
        'tsigil_keystone_validation_duration_seconds_count{outcome="valid"} 1',
      );
      expect(text).toMatch(/tsigil_keystone_cache_hits_total\{outcome="valid"\} [1-9]/);
    });

    test('200 for a revoked token within cacheSeconds, then 401', async () => {
      const service = await start(variables({ CACHE_SECONDS: '3' }));
      const lasting = await start(variables());
      const token = await issue();
      expect([await statusOf(service, token), await statusOf(lasting, token)]).toEqual([200, 200]);
      await keystone.revoke(token);
      await expect.poll(() => statusOf(service, token), { interval: 200 }).toBe(401);
      expect(await statusOf(lasting, token)).toBe(200);
    });
  });

  describe('the credentials of the service', () => {
    test('401 for a session of the console once its token is revoked, and the token is in no row', async () => {
      const folder = temporaryFolder();
      const service = await startTestService(variables({ CACHE_SECONDS: '0' }), { folder });
      onTestFinished(() => service.close());
      const token = await issue();
      const browser = await signIn(service, { method: 'token', token });
      const { caller, expires } = browser.opened.body;
      expect(caller).toMatchObject({ name: 'admin-one', project_id: cloud.projectIds[0] });
      expect(Date.parse(`${expires.absolute_at}Z`)).toBeLessThan(Date.now() + 3600_000);
      expect((await browser.call('GET', '/v2/zones')).status).toBe(200);
      const rows = await queryDatabase(`sqlite:${folder}/tsigil.db`, 'SELECT * FROM sessions');
      expect(rows).toMatchObject([{ kind: 'keystone' }]);
      expect(JSON.stringify(rows)).not.toContain(token);
      await keystone.revoke(token);
      expect((await browser.call('GET', '/v2/zones')).status).toBe(401);
    });

    test("200 after the service's token was revoked, because the service obtains a new token", async () => {
      const [service, gateway] = await startBehind();
      expect(await statusOf(service, await issue())).toBe(200);
      await keystone.revoke(String(gateway.passed.at(-1)?.headers['x-auth-token']));
      const tokens = [await issue('admin', 'two'), await issue('admin', 'one')];
      expect(await Promise.all(tokens.map((token) => statusOf(service, token)))).toEqual([
        200, 200,
      ]);
      expect(gateway.count(LOGIN)).toBe(2);
    });

    test('503 if Keystone refuses the credentials, and the service logs the cause and waits before it retries', async () => {
      const [service, gateway] = await startBehind({ PASSWORD: randomUUID() });
      const response = await service.with(await issue()).get('/v2/tlds');
      expect(response).toMatchObject({ status: 503, body: { type: 'service_unavailable' } });
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(await statusOf(service, await issue('admin', 'two'))).toBe(503);
      expect([gateway.count(LOGIN), gateway.count(VALIDATION)]).toEqual([1, 0]);
      expect(service.log.join()).toContain(
        "Keystone: returned 401 for the service's own credentials",
      );
    });
  });

  describe('when Keystone is unavailable', () => {
    test('503, never 401, for any response of a proxy in place of Keystone', async () => {
      const [service, gateway] = await startBehind({}, {});
      for (const status of [301, 400, 401, 403, 404, 429, 500, 503]) {
        gateway.behave(() => status);
        const { status: answered, headers } = await service.with(await issue()).get('/v2/tlds');
        expect([status, answered, headers.get('retry-after')]).toEqual([status, 503, '5']);
      }
    });

    test('200 for cached tokens and 503 for others during a restart of Keystone, then 200 for all', async () => {
      const service = await start(variables());
      const [known, ...others] = [
        await issue(),
        await issue('admin', 'two'),
        await keystone.token('admin-system', 'system'),
      ];
      expect(await statusOf(service, known)).toBe(200);
      let running = true;
      onTestFinished(() => {
        running = false;
      });
      const seen = { known: new Set<number>(), others: new Set<number>() };
      const traffic = async (token: string, statuses: Set<number>) => {
        while (running) {
          const { status, headers } = await service.with(token).get('/v2/tlds');
          statuses.add(status);
          if (status === 503) expect(headers.get('retry-after')).toBe('5');
          await pause(20); // leaves CPU time for the start of Keystone
        }
      };
      const loads = [traffic(known, seen.known)];
      await keystone.stop();
      loads.push(...others.map((token) => traffic(token, seen.others)));
      await expect.poll(() => seen.others.has(503)).toBe(true);
      await keystone.start();
      await expect
        .poll(async () => Promise.all(others.map((token) => statusOf(service, token))))
        .toEqual([200, 200]);
      running = false;
      await Promise.all(loads);
      expect(seen).toEqual({ known: new Set([200]), others: new Set([503, 200]) });
      expect((await service.get('/metrics')).text).toMatch(
        /tsigil_keystone_validation_duration_seconds_count\{outcome="unavailable"\} [1-9]/,
      );
    }, 180_000);
  });

  describe.runIf(hasProgram('openssl', 'openssl'))('over TLS', () => {
    const folder = temporaryFolder();

    test('200 if caFile contains the CA of Keystone, otherwise 503', async () => {
      const authority = createAuthority(folder, 'authority');
      const otherAuthority = createAuthority(folder, 'stranger');
      const gateway = await startGateway(keystone.url, createCertificate(folder, 'authority'));
      onTestFinished(() => gateway.close());
      const token = await issue();
      const statuses: number[] = [];
      for (const settings of [{ CA_FILE: authority }, { CA_FILE: otherAuthority }, {}]) {
        const service = await start(variables({ URL: `${gateway.url}/v3/`, ...settings }));
        statuses.push(await statusOf(service, token));
      }
      expect(statuses).toEqual([200, 503, 503]);
    });
  });

  describe('tokens that expire within seconds', () => {
    beforeAll(async () => {
      await keystone.stop();
      await keystone.start(20);
    });
    afterAll(async () => {
      await keystone.stop();
      await keystone.start();
    });

    test('200 until the token expires, then 401, even within cacheSeconds', async () => {
      const service = await start(variables());
      const token = await issue();
      expect(await statusOf(service, token)).toBe(200);
      await expect.poll(() => statusOf(service, token), { interval: 200 }).toBe(401);
    });

    test('200 for new tokens at any time, because the service renews its token before it expires', async () => {
      const [service, gateway] = await startBehind();
      while (gateway.count(LOGIN) < 2) expect(await statusOf(service, await issue())).toBe(200);
      const authorities = gateway.passed
        .filter(({ what }) => what === VALIDATION)
        .map(({ headers }) => headers['x-auth-token']);
      expect(new Set(authorities).size).toBeGreaterThan(1);
    });
  });
});
