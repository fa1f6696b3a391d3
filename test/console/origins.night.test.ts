import { request } from 'node:http';
import { createServer } from 'node:https';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { hasChromium, openConsole, signInOn, startChromium } from '../harness/chromium.ts';
import { serve } from '../harness/connections.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const CONSOLE = 'console.tsigil.test';
const SIBLING = 'sibling.tsigil.test';
const FOREIGN = 'foreign.example';
const ALLOWED = 'allowed.example';

const isReady = hasChromium() && hasProgram('openssl', 'openssl');

describe.skipIf(!isReady)('the console at a public name', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium(
      '--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.example 127.0.0.1',
    );
  });

  test('over plain HTTP, the page refuses the sign-in and says why', async () => {
    const { url } = await startTestService();
    const { port } = new URL(url);
    const { page, context, open } = await openConsole(browser, {
      url: `http://${CONSOLE}:${port}`,
    });
    await open('');
    await page.getByText('You can’t sign in over this connection.').waitFor();
    await page.getByText(/is not encrypted.*tls\.cert.*api\.trustProxyHeaders/).waitFor();
    expect(await page.getByLabel('Token').count()).toBe(0);
    await context.close();
  });

  describe('the cookie of a session', () => {
    let service: TestService;
    let url: string;
    let others: string;
    let own: Page;
    let context: BrowserContext;

    beforeAll(async () => {
      const folder = temporaryFolder();
      createAuthority(folder, 'authority');
      const certificate = createCertificate(folder, 'authority');
      const other = createServer(certificate, (_, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Other'),
      );
      others = new URL(await serve(other)).port;
      service = await startTestService({
        TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
        TSIGIL_CORS_ALLOWED_ORIGINS: `["https://${ALLOWED}:${others}"]`,
      });
      const front = createServer(certificate, (incoming, outgoing) => {
        const { method, headers } = incoming;
        const secure = { ...headers, 'x-forwarded-proto': 'https' };
        const forward = request(`${service.url}${incoming.url}`, { method, headers: secure });
        forward.on('response', (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(outgoing);
        });
        incoming.pipe(forward);
      });
      url = `https://${CONSOLE}:${new URL(await serve(front)).port}`;
      const opened = await openConsole(browser, { url }, { ignoreHTTPSErrors: true });
      ({ context, page: own } = opened);
      await signInOn(opened, service.token);
    });

    /** Returns the statuses of the requests that named a resource, once there is one. */
    async function statusesOf(id: string): Promise<number[]> {
      const found = () =>
        service.log
          .join('')
          .split('\n')
          .filter((line) => line.includes(`"resource":"${id}"`))
          .map((line) => (JSON.parse(line) as { status: number }).status);
      await expect.poll(found).not.toEqual([]);
      return found();
    }

    /** What a page of another origin does to a path of the service, as a script. */
    const WAYS: Readonly<Record<string, (target: string) => string>> = {
      'a request': (target) =>
        `fetch('${target}', { credentials: 'include' }).then(({ status }) => status, () => 'unreadable')`,
      'a form': (target) =>
        `{ const form = document.createElement('form');
           Object.assign(form, { method: 'post', action: '${target}/reveal', enctype: 'text/plain' });
           document.body.append(form);
           form.submit(); }`,
      'an image': (target) => `new Image().src = '${target}'; 0`,
      'a frame': (target) =>
        `document.body.append(Object.assign(document.createElement('iframe'), { src: '${target}' }))`,
    };

    test('opens a key for the page of the console', async () => {
      const { id } = await createKey(service, 'own.example');
      expect(await own.evaluate(`fetch('/v2/tsigkeys/${id}').then((all) => all.status)`)).toBe(200);
      expect(await statusesOf(id)).toEqual([200]);
    });

    describe.each([
      ['another origin', FOREIGN],
      ['a sibling subdomain', SIBLING],
      ['an allowed CORS origin', ALLOWED],
    ])('opens nothing for %s', (_, host) => {
      test.each(Object.entries(WAYS))('by %s', async (way, script) => {
        const { id } = await createKey(service, `${way.replace(/.* /, '')}.${host}`);
        const page = await context.newPage();
        await page.goto(`https://${host}:${others}/`);
        const seen = await page.evaluate(script(`${url}/v2/tsigkeys/${id}`));
        expect(await statusesOf(id)).toEqual([401]);
        if (way === 'a request') expect(seen).toBe(host === ALLOWED ? 401 : 'unreadable');
        await page.close();
      });

      test('which cannot frame the console either', async () => {
        const page = await context.newPage();
        await page.goto(`https://${host}:${others}/`);
        const refused = page.waitForEvent('console', (message) =>
          message.text().includes('frame-ancestors'),
        );
        await page.evaluate(WAYS['a frame']?.(`${url}/console/`) ?? '');
        await refused;
        await page.close();
      });
    });
  });
});
