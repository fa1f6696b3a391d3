import { beforeAll, describe, expect, test } from 'vitest';
import { hasFile, titleOf } from '../../src/console/brands.ts';
import { BRANDS } from '../../src/brands/brands.ts';
import { bind } from '../harness/brands/bind.ts';
import { consolePages, expectAccessible, hasChromium } from '../harness/chromium.ts';
import { createKey, delivering, startDeliveryServer, untilLive } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

// What the pages have, in the functions that run there.
declare const document: {
  readonly documentElement: { readonly outerHTML: string };
  readonly activeElement: { readonly tagName: string } | null;
};
declare const navigator: { readonly clipboard: { readText(): Promise<string> } };

const isReady = hasChromium() && hasProgram('named', 'bind9');

test.each(Object.entries(BRANDS))('the console knows %s as the service does', (driver, brand) => {
  expect(titleOf(driver)).toBe(brand.title);
  expect(hasFile(driver)).toBe('checker' in brand);
});

describe.skipIf(!isReady)('keys and name servers in the console', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    const server = await startDeliveryServer(bind);
    service = await startTestService(delivering(server));
    await start(service);
  });

  test('a key is created, delivered, shown, exported for both ends, changed and deleted', async () => {
    const { page, context } = await enter('keys');
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name', { exact: true }).fill('walk.example');
    await dialog.getByRole('button', { name: 'Create key' }).click();

    const created = page.getByRole('dialog', { name: 'Key created' });
    const primary = created.getByRole('region', { name: 'The end that accepts requests' });
    await primary.getByRole('button', { name: /^Show/ }).click();
    await primary.getByText('key "walk.example"').waitFor();
    await primary.getByRole('button', { name: /^Copy/ }).click();
    await page.getByText('Copied the configuration').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
      'key "walk.example"',
    );
    const secondary = created.getByRole('region', { name: 'The end that requests' });
    await secondary.getByLabel('Address of the primary').fill('192.0.2.53');
    await secondary.getByRole('button', { name: /^Show/ }).click();
    await secondary.locator('pre', { hasText: '192.0.2.53' }).waitFor();
    await expectAccessible(page);
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
    await expectAccessible(page);
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
    await expectAccessible(page);
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
    await rotation.getByRole('button', { name: 'Confirm all clients…' }).click();
    const confirm = page.getByRole('dialog', { name: 'Do all clients use the new key?' });
    await confirm.getByRole('button', { name: 'Confirm all clients' }).click();
    await rotation.getByText('draining').waitFor();
    await expectAccessible(page);
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
    await createKey(service, 'found.example');
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

  test('a name server is added with the keyboard, set up with its lines, and seen on the way to live', async () => {
    await createKey(service, 'listed.example');
    await untilLive(service, 'ns1');
    const { page } = await enter('nameservers');
    const table = page.getByRole('table', { name: 'Name servers' });
    await table.getByText(/^(\d+) of \1 keys/).waitFor();
    await page.keyboard.press('c');
    await page.getByRole('heading', { name: 'Add a name server' }).waitFor();
    await page.getByLabel('Knot DNS').check();
    await page.getByLabel('Name', { exact: true }).fill('bad name');
    await page.getByLabel('Address').fill('192.0.2.53');
    await page.getByRole('button', { name: 'Add and show its configuration' }).click();
    await page.locator('.problem').first().waitFor();
    await page.getByLabel('Name', { exact: true }).fill('ns2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Set up ns2' }).waitFor();
    await page.getByText('include: "/etc/knot/tsigil/keys.conf"').waitFor();
    const line = page.getByRole('region', { name: 'How far it is' });
    await line.getByText('✕ Agent reports').waitFor();
    await line.getByText('Start the agent on its host, or read its log.').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel(/^Probe zone/).fill('probed.example.');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show the name server' }).click();
    await page.getByRole('heading', { name: 'ns2', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete ns2?' });
    await dialog.getByText('It has no key of Tsigil.').waitFor();
    await dialog.getByRole('button', { name: 'Delete name server' }).click();
    await page.getByRole('heading', { name: 'Name servers' }).waitFor();
    await expectAccessible(page);
  });
});
