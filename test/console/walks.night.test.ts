import { beforeAll, describe, expect, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import { consolePages, hasChromium, signInOn } from '../harness/chromium.ts';
import { createKey, delivering, startDeliveryServer, untilLive } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { recordSecret } from '../harness/evidence.ts';
import { hasProgram } from '../harness/tools.ts';

// What the pages have, in the functions that run there.
declare const document: {
  readonly documentElement: { readonly outerHTML: string };
  readonly activeElement: { readonly tagName: string } | null;
};
declare const scrollY: number;
declare const localStorage: object;
declare const sessionStorage: object;

const isReady = hasChromium() && hasProgram('named', 'bind9');

describe.skipIf(!isReady)('the web console', () => {
  let service: TestService;
  const { start, openNew, enter, enterWith } = consolePages();

  beforeAll(async () => {
    const server = await startDeliveryServer(bind);
    service = await startTestService(delivering(server));
    await start(service);
  });

  test('a wrong token is refused, and the right one opens the overview', async () => {
    const { page, open } = await openNew();
    await open('');
    await page.getByLabel('Token').fill('tsigil_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('Sign-in failed.');
    await page.getByLabel('Token').fill(service.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    expect(stored).not.toContain(service.token);
  });

  test('a link of `tsigil console` signs in once, and leaves no code in the address', async () => {
    const { status, body } = await service.post('/console/code', {});
    expect(status).toBe(201);
    recordSecret(String(body.code));
    const { page, context, open } = await openNew();
    await open(`#code=${body.code}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(page.url()).toBe(`${service.url}/console/`);
    await context.clearCookies();
    await page.goto('about:blank');
    await open(`#code=${body.code}`);
    await page.getByText('This link was used before or has expired.').waitFor();
    await page.getByLabel('Token').waitFor();
  });

  test('a key is created, delivered, shown, exported for both ends, changed and deleted', async () => {
    const { page } = await enter('keys');
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name', { exact: true }).fill('walk.example');
    await dialog.getByRole('button', { name: 'Create key' }).click();

    const created = page.getByRole('dialog', { name: 'Key created' });
    const primary = created.getByRole('region', { name: 'The end that accepts requests' });
    await primary.getByRole('button', { name: /^Show/ }).click();
    await primary.getByText('key "walk.example"').waitFor();
    const secondary = created.getByRole('region', { name: 'The end that requests' });
    await secondary.getByRole('button', { name: /^Show/ }).click();
    await secondary.getByLabel('Address of the primary').fill('192.0.2.53');
    await secondary.getByText('192.0.2.53').first().waitFor();
    await created.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('heading', { name: 'walk.example' }).waitFor();
    const places = page.getByRole('region', { name: 'Where it is live' });
    await places.getByText('delivered').waitFor();

    const { secret } = await keyOf('walk.example');
    const grouped = secret.match(/.{1,4}/g)?.join(' ') ?? '';
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Show the secret' }).click();
    await page.getByText(grouped).waitFor();
    await page.getByText(/Hidden in \d+ s/).waitFor();
    await page.getByRole('button', { name: 'Hide the secret' }).click();
    const html = await page.evaluate(() => document.documentElement.outerHTML);
    for (const form of [secret, grouped]) expect(html).not.toContain(form);

    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit key' });
    await edit.getByLabel('Name', { exact: true }).fill('walked.example');
    await edit.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('heading', { name: 'walked.example' }).waitFor();

    await page.getByRole('button', { name: 'Delete…' }).click();
    const confirm = page.getByRole('dialog', { name: 'Delete walked.example' });
    await confirm.getByText('These name servers lose it').waitFor();
    expect(await confirm.getByRole('button', { name: 'Delete key' }).isEnabled()).toBe(false);
    await confirm.getByLabel(/Type/).fill('walked.example');
    await confirm.getByRole('button', { name: 'Delete key' }).click();
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    expect(await keyOf('walked.example')).toBeUndefined();
  });

  async function keyOf(name: string) {
    return (await service.get(`/v2/tsigkeys?name=${name}`)).body.tsigkeys[0];
  }

  test('a key is rotated, and the page says what the rotation waits for', async () => {
    const key = await createKey(service, 'turn.example');
    await untilLive(service, 'ns1');
    const { page } = await enter(`keys/${key.id}`);
    await page.getByRole('button', { name: 'Rotate…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rotate turn.example' });
    await dialog.getByRole('button', { name: 'Rotate key' }).click();
    const rotation = page.getByRole('region', { name: 'Rotation' });
    await rotation.getByText('turn-r2.example').waitFor();
    await rotation.getByRole('button', { name: 'Confirm all clients' }).click();
    const confirm = page.getByRole('dialog', { name: 'Do all clients use the new key?' });
    await confirm.getByRole('button', { name: 'Confirm all clients' }).click();
    await rotation.getByText('draining').waitFor();
  });

  test('the key of another client appears in a list that is open', async () => {
    const { page } = await enter('keys?q=another');
    await page.getByText('No key matches').waitFor();
    await createKey(service, 'another.example');
    await page.getByRole('link', { name: 'another.example' }).waitFor();
  });

  test('a name that is taken is an error at its field, and nothing typed is lost', async () => {
    await createKey(service, 'taken.example');
    const { page } = await enter('keys?new=1');
    const dialog = page.getByRole('dialog', { name: 'New key' });
    const name = dialog.getByLabel('Name', { exact: true });
    await name.fill('taken.example');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Duplicate').waitFor();
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    expect(await name.inputValue()).toBe('taken.example');
    expect(await name.evaluate((element) => (element as unknown) === document.activeElement)).toBe(
      true,
    );
  });

  test('the session ends while a form is half filled, and the form is kept over a new sign-in', async () => {
    const { page, context } = await enter('keys?new=1');
    const form = page.getByRole('dialog', { name: 'New key' });
    await form.getByLabel('Name', { exact: true }).fill('kept.example');
    await context.clearCookies();
    // The next request that is refused, also one of the list below, asks for a new sign-in.
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Token').fill(service.token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('kept.example');
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Key created' }).waitFor();
  });

  test('a reader sees no action that would be refused, and learns which right it needs', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'looker', roles: ['auditor'] });
    const { page, open } = await enterWith(body.token, 'keys');
    await page.getByText('Creating a key needs the right tsigkeys:create').waitFor();
    expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(0);
    const key = await createKey(service, 'seen.example');
    await open(`keys/${key.id}`);
    await page.getByText('Seeing it needs the right tsigkeys:reveal').waitFor();
    for (const name of ['Rotate…', 'Edit', 'Delete…', 'Export'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
  });

  test('names are text: markup is shown, and characters that change the order are escaped', async () => {
    const name = '<img src=x onerror=alert(1)>\u202Egnp';
    const key = await createKey(service, 'hostile.example');
    await service.patch(`/v2/tsigkeys/${key.id}`, { name });
    const { page } = await enter(`keys/${key.id}`);
    await page.getByRole('heading', { name: '<img src=x onerror=alert(1)>\\u202egnp' }).waitFor();
    expect(await page.title()).not.toContain('\u202E');
    await service.delete(`/v2/tsigkeys/${key.id}`);
  });

  test('a list works by keyboard: filter, open, come back, create, close, help', async () => {
    await createKey(service, 'board-a.example');
    await createKey(service, 'board-b.example');
    const { page } = await enter('keys');
    const focused = () => page.evaluate(() => document.activeElement?.tagName);
    await page.getByText(/^\d+ keys$/).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('board');
    await page.waitForURL(/q=board/);
    await page.getByText('2 keys').waitFor();
    await page.getByRole('link', { name: 'board-b.example' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'board-b.example' }).waitFor();
    expect(await focused()).toBe('H1');
    expect(await page.title()).toBe('board-b.example · Tsigil');
    await page.goBack();
    await page.getByText('2 keys').waitFor();
    for (const [key, name] of [
      ['c', 'New key'],
      ['?', 'Keyboard'],
    ] as const) {
      await page.keyboard.press(key);
      const dialog = page.getByRole('dialog', { name });
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
  });

  test('a filter that finds nothing is named and can be cleared, and a deleted key says so', async () => {
    const { page, open } = await enter('keys?q=nowhere&algorithm=hmac-sha512');
    await page.getByText('No key matches').waitFor();
    await page.getByText('name “nowhere”, algorithm “hmac-sha512”').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('table', { name: 'Keys' }).waitFor();
    await open('keys/2d1b0a1e-6f0d-4f2b-9c1a-000000000000');
    await page.getByText('It was deleted, or the link is wrong.').waitFor();
    await open('nowhere');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });

  test('a server that cannot be reached is said, with the rows that were read before', async () => {
    const { page, context, complaints } = await enter(
      `keys/${(await createKey(service, 'cut.example')).id}`,
    );
    await page.getByRole('region', { name: 'Where it is live' }).getByText('ns1').waitFor();
    await context.setOffline(true);
    await page
      .getByText(/Not live since/)
      .first()
      .waitFor();
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Retry' }).first().click();
    await page.getByRole('heading', { name: 'cut.example' }).waitFor();
    complaints.splice(0); // the network was cut
  });

  test('after sign-out, going back shows no data', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'leaver', roles: ['admin'] });
    const { page } = await enterWith(body.token, 'keys');
    await page.getByRole('table', { name: 'Keys' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.goBack();
    await page.getByLabel('Token').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });

  test('only requests to the API and to the console are sent', async () => {
    const paths = new Set<string>();
    const opened = await openNew();
    opened.page.on('request', (request) => paths.add(new URL(request.url()).pathname));
    await signInOn(opened, service.token);
    await opened.open('keys');
    await opened.page.getByRole('table', { name: 'Keys' }).waitFor();
    expect([...paths].filter((path) => !/^\/(?:v2|console)\//.test(path))).toEqual([]);
  });

  test('a list shows 100 more on demand, and Back returns to its rows and the place', async () => {
    const names = Array.from({ length: 250 }, (_, index) => `${1000 + index}.long.example`);
    for (const name of names) await createKey(service, name);
    const { page } = await enter('keys?q=long');
    const row = (index: number) => page.getByRole('link', { name: names[index] ?? '' });
    await row(99).waitFor();
    expect(await page.getByRole('row').count()).toBe(101);
    const more = page.getByRole('button', { name: 'Show 100 more' });
    for (const last of [199, 249]) {
      await more.click();
      await row(last).waitFor();
    }
    expect(await more.count()).toBe(0);
    await row(240).scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    await row(240).click();
    await page.getByRole('heading', { name: names[240] ?? '' }).waitFor();
    await page.goBack();
    await row(249).waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(before);
  });
});
