import type { Request } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, expectAccessible, hasChromium } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService, type TestService } from '../harness/service.ts';

// What the pages have, in the functions that run there.
declare const document: {
  readonly documentElement: { readonly outerHTML: string };
  readonly body: object;
  dispatchEvent(event: Event): void;
};
declare function getComputedStyle(
  element: object,
  part?: string,
): { readonly backgroundColor: string };
declare const localStorage: object;
declare const sessionStorage: object;

/** Makes the page take itself for one that is, or is not, in front. */
function seeAs(visibilityState: string): void {
  Object.defineProperty(document, 'visibilityState', {
    value: visibilityState,
    configurable: true,
  });
  document.dispatchEvent(new Event('visibilitychange'));
}

describe.skipIf(!hasChromium())('the web console', () => {
  let service: TestService;
  const { start, openNew, enter, enterWith } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  test('a wrong token is refused, and the right one opens the console', async () => {
    const { page, open } = await openNew();
    await open('');
    await page.getByLabel('Token').fill('tsigil_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('Sign-in failed.');
    await expectAccessible(page);
    await page.getByLabel('Token').fill(service.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    expect(stored).not.toContain(service.token);
  });

  test('a link of `tsigil console` signs in once, and leaves no code in the address', async () => {
    const { status, body } = await service.post('/console/code', {});
    expect(status).toBe(201);
    recordSecret(String(body.code));
    const { page, context, open } = await openNew();
    await open(`#code=${body.code}`);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(page.url()).toBe(`${service.url}/console/`);
    await context.clearCookies();
    await page.goto('about:blank');
    await open(`#code=${body.code}`);
    await page.getByText('This link was used before or has expired.').waitFor();
    await page.getByLabel('Token').waitFor();
  });

  test('a link of `tsigil console` also signs in when it is pasted into the tab of the console', async () => {
    const { body } = await service.post('/console/code', {});
    recordSecret(String(body.code));
    const { page, open } = await openNew();
    await open('');
    await page.getByLabel('Token').waitFor();
    await open(`#code=${body.code}`);
    await page.locator('.who', { hasText: 'admin' }).waitFor();
    await open(`#code=${body.code}`);
    await page.getByText('You were signed in already, so the link was not used.').waitFor();
    expect(page.url()).toBe(`${service.url}/console/`);
  });

  test('a link of another caller does not replace the session of a person', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'luring', roles: ['reader'] });
    const { body: made } = await service.with(body.token).post('/console/code', {});
    recordSecret(String(made.code));
    const { page, context, open } = await enter('keys');
    await page.goto('about:blank');
    await open(`keys#code=${made.code}`);
    await page.getByText('You were signed in already, so the link was not used.').waitFor();
    expect(page.url()).toBe(`${service.url}/console/keys`);
    expect(await page.locator('.who').textContent()).toBe('admin');
    await context.clearCookies();
    await page.goto('about:blank');
    await open(`#code=${made.code}`);
    await page.locator('.who', { hasText: 'luring' }).waitFor();
  });

  test('whoever signs in over the page of another caller sees nothing of it, also not by going back', async () => {
    const { body: first } = await service.post('/v2/tokens', { name: 'first', roles: ['auditor'] });
    const { body: next } = await service.post('/v2/tokens', { name: 'next', roles: ['reader'] });
    await createKey(service, 'seen-by-the-first.example');
    const { page } = await enterWith(first.token, 'keys');
    const key = page.getByRole('link', { name: 'seen-by-the-first.example' });
    await key.click();
    await page.getByRole('heading', { name: 'seen-by-the-first.example' }).waitFor();
    await service.delete(`/v2/tokens/${first.id}`);
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Token').fill(next.token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.who', { hasText: 'next' }).waitFor();
    await page.goBack();
    await page.getByText('needs the right tsigkeys:list').waitFor();
    expect(await key.count()).toBe(0);
  });

  test('a session that has ended hides the page, and leaves no secret in it', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'away', roles: ['admin'] });
    const { id } = await createKey(service, 'exported.example');
    const { secret } = (await service.get(`/v2/tsigkeys/${id}`)).body;
    const { page } = await enterWith(body.token, `keys/${id}`);
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('button', { name: 'Show the text for: The end that accepts' }).click();
    await page.getByText(secret).waitFor();
    await service.delete(`/v2/tokens/${body.id}`);
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.waitFor();
    await page.getByText(secret).waitFor({ state: 'detached' });
    for (let at = 0; at < 4; at += 1) await page.keyboard.press('Escape');
    await again.getByLabel('Token').waitFor();
    const [cover, canvas] = await again.evaluate((element) => {
      const backdrop = getComputedStyle(element, '::backdrop').backgroundColor;
      return [backdrop, getComputedStyle(document.body).backgroundColor];
    });
    expect(cover).toBe(canvas);
  });

  test.each([
    ['another collection', (id: string) => `keys/..%2Ftokens%2F${id}`],
    ['the export of a key', (id: string) => `keys/${id}%2Fexport%3Fformat=bind%23`],
    ['a parameter', (id: string) => `pools/${id}&all=1`],
  ])('a link cannot lead the request for an id to %s', async (_, linkTo) => {
    const { id } = await createKey(service, `${Math.random()}.lured.example`);
    const { page, open } = await enter('audit');
    await page.getByRole('table').waitFor();
    await page.goto('about:blank');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await open(linkTo(id));
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect(requests.filter((url) => url.includes('/v2/'))).toEqual([]);
  });

  test('after sign-out, going back shows no data', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'leaver', roles: ['auditor'] });
    await createKey(service, 'left.example');
    const { page } = await enterWith(body.token, 'keys');
    await page.getByRole('table', { name: 'Keys' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.goBack();
    await page.getByLabel('Token').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });

  test('a tab that nobody sees reads nothing and shows no secret, and reads when it is seen', async () => {
    const { id } = await createKey(service, 'hidden.example');
    const { page, open } = await enter('keys');
    await page.clock.install();
    await open(`keys/${id}`);
    const hide = page.getByRole('button', { name: 'Hide the secret' });
    await page.getByRole('button', { name: 'Show the secret' }).click();
    await hide.waitFor();
    await page.clock.pauseAt(Date.now() + 1000);
    const isRead = (request: Request) => request.url().endsWith(`/tsigkeys/${id}`);
    const read = page.waitForRequest(isRead);
    await page.clock.runFor(10_000);
    await (await read).response();

    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.evaluate(seeAs, 'hidden');
    await hide.waitFor({ state: 'detached' });
    await page.clock.runFor(120_000);
    expect(requests).toEqual([]);
    const next = page.waitForRequest(isRead);
    await page.evaluate(seeAs, 'visible');
    await next;
  });

  async function createToken(name: string, further: object = {}) {
    const given = Object.assign({ name, roles: ['reader'] }, further);
    const { status, body } = await service.post('/v2/tokens', given);
    expect(status).toBe(201);
    return body as { id: string; token: string };
  }

  test('a token is created with limits, shown once, and deleted', async () => {
    await service.post('/v2/pools', { name: 'edge' });
    const { page } = await enter('tokens');
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await dialog.getByLabel('Name', { exact: true }).fill('ci-web');
    await dialog.getByRole('checkbox', { name: /^reader/ }).uncheck();
    await dialog.getByRole('checkbox', { name: /^keymanager/ }).check();
    await dialog.getByText('Limit it to pools').click();
    await dialog.getByLabel(/^Pools/).fill('edge');
    await dialog.locator('option[value="edge"]').waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Add to Pools' }).click();
    await dialog.getByRole('checkbox', { name: 'edge' }).waitFor();
    await dialog.getByLabel(/^Addresses/).fill('nowhere');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByText("'addresses").waitFor();
    await dialog.getByLabel(/^Addresses/).fill('192.0.2.0/24');
    await dialog.getByRole('button', { name: 'Create token' }).click();

    const created = page.getByRole('dialog', { name: 'Token created: ci-web' });
    const token = (await created.getByText(/^tsigil_/).textContent()) ?? '';
    recordSecret(token);
    await page.keyboard.press('Escape');
    await created.getByText('You have not copied the token').waitFor();
    await created.getByRole('button', { name: 'Close without copying' }).click();

    await page.getByRole('heading', { name: 'ci-web' }).waitFor();
    await page.getByRole('link', { name: 'edge' }).waitFor();
    await page.getByText('192.0.2.0/24').waitFor();
    const { body } = await service.get('/v2/tokens?name=ci-web');
    const [stored] = body.tokens;
    expect(stored.roles).toEqual(['keymanager']);
    const days = (Date.parse(`${stored.expires_at}Z`) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(token);
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete token' }).click();
    await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor();
    expect((await service.get('/v2/tokens?name=ci-web')).body.tokens).toEqual([]);
    await expectAccessible(page);
  });

  test('deleting the token in use is said to end its sessions, and ends them', async () => {
    const { id, token } = await createToken('ada', { roles: ['admin'] });
    const { page } = await enterWith(token, `tokens/${id}`);
    await page.getByText('You are signed in with it').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('its sessions of this console end: you are signed in with it').waitFor();
    await dialog.getByLabel(/Type/).fill('ada');
    await dialog.getByRole('button', { name: 'Delete token' }).click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
  });

  test.each(['', 'keys', 'zones', 'tlds', 'nameservers', 'tokens', 'audit'])(
    'the first rows of /%s need at most six requests, and nothing moves meanwhile or later',
    async (path) => {
      await createKey(service, `rows-${path}.example`);
      const { page, open } = await enter('signed-in');
      const waiting: (() => Promise<void>)[] = [];
      let left = 6;
      await page.route('**', async (route) => {
        left -= 1;
        if (left < 0) waiting.push(() => route.continue());
        else await route.continue();
      });
      await page.addInitScript(`
        globalThis.shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) globalThis.shift += entry.value;
        }).observe({ type: 'layout-shift', buffered: true });`);
      await open(path);
      await page.locator('main .need, main tbody tr, main .empty').first().waitFor();
      left = Infinity;
      for (const go of waiting) await go();
      await page.waitForLoadState('networkidle');
      expect(await page.evaluate('globalThis.shift')).toBe(0);
    },
  );

  test('tokens unused for 90 days are filtered, and the list names limits', async () => {
    const key = await createKey(service, 'read.example');
    await createToken('narrow', { roles: ['keymanager'], keys: [key.id] });
    const { page } = await enter('tokens?unused=90');
    await page.getByText('No token matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('Only 1 key').waitFor();
    await expectAccessible(page);
  });

  test('a key page leads to its records, with what each changed, and the record to its request', async () => {
    const key = await createKey(service, 'seen.example');
    await createKey(service, 'other.example');
    await service.patch(`/v2/tsigkeys/${key.id}`, { algorithm: 'hmac-sha512' });
    const { page } = await enter(`keys/${key.id}`);
    await page.getByRole('link', { name: 'All in audit' }).click();
    const table = page.getByRole('table', { name: 'Audit trail' });
    await table.getByText('algorithm hmac-sha256 → hmac-sha512').waitFor();
    expect(await table.getByText('other.example').count()).toBe(0);
    const row = table.getByRole('row').filter({ hasText: 'hmac-sha512' });
    await row.getByRole('link').first().press('Enter');
    const dialog = page.getByRole('dialog', { name: 'tsigkeys:update' });
    await dialog.getByRole('cell', { name: 'hmac-sha512' }).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('link', { name: /^req-/ }).click();
    await page.getByText('1 record', { exact: true }).waitFor();
    await table.getByRole('link', { name: 'seen.example' }).click();
    await page.getByRole('heading', { name: 'seen.example' }).waitFor();
  });

  test('records are filtered by action, outcome and name, and no match says so', async () => {
    await createKey(service, 'made.example');
    const { body } = await service.post('/v2/tokens', { name: 'curious', roles: ['reader'] });
    await service.get('/v2/tsigkeys', { 'x-auth-token': body.token });
    await expect
      .poll(async () => (await service.get('/v2/audit?outcome=denied')).body.records)
      .toContainEqual(expect.objectContaining({ actor_name: 'curious' }));
    const { page } = await enter('audit?outcome=denied');
    const table = page.getByRole('table', { name: 'Audit trail' });
    await table.getByRole('link', { name: 'curious' }).waitFor();
    await page.getByLabel('Outcome').selectOption('');
    await page.getByLabel('Resource').fill('made.example');
    await page.getByLabel('Action').fill('tsigkeys:cre');
    await page.getByText('1 record', { exact: true }).waitFor();
    await page.getByLabel('Who').fill('nobody');
    await page.getByText('No record matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await table.getByRole('link', { name: 'made.example' }).waitFor();
    expect(await page.getByLabel('Who').inputValue()).toBe('');
    await expectAccessible(page);
  });
});
