import { beforeAll, describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { consolePages, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService, type TestService } from '../harness/service.ts';

// What the pages have, in the functions that run there.
declare const document: { readonly documentElement: { readonly outerHTML: string } };

describe.skipIf(!hasChromium())('the screens of tokens', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
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
    await dialog.getByLabel(/^Pools/).click();
    await dialog.getByLabel(/^Pools/).fill('edge');
    await dialog.getByRole('option', { name: 'edge' }).click();
    await dialog.getByRole('button', { name: 'Remove edge' }).waitFor();
    await dialog.getByLabel(/^Addresses/).fill('nowhere');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByText("'addresses").waitFor();
    await dialog.getByLabel(/^Addresses/).fill('192.0.2.0/24');
    await dialog.getByRole('button', { name: 'Create token' }).click();

    const created = page.getByRole('dialog', { name: 'Token created: ci-web' });
    const token = (await created.getByText(/^tsigil_/).textContent()) ?? '';
    recordSecret(token);
    await created.getByText('Example with curl').click();
    await created.getByText('curl -H @-').waitFor();
    await page.keyboard.press('Escape');
    await created.getByText('You have not copied the token').waitFor();
    await created.getByRole('button', { name: 'Close without copying' }).click();

    await page.getByRole('heading', { name: 'ci-web' }).waitFor();
    await page.getByText('Only the pool').waitFor();
    await page.getByText('192.0.2.0/24').waitFor();
    const { body } = await service.get('/v2/tokens?name=ci-web');
    const [stored] = body.tokens;
    expect(stored.roles).toEqual(['keymanager']);
    const days = (Date.parse(`${stored.expires_at}Z`) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(token);

    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete token' }).click();
    await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor();
    expect((await service.get('/v2/tokens?name=ci-web')).body.tokens).toEqual([]);
  });

  test('the last administrator is warned about, and deleting the token in use ends its sessions', async () => {
    const { id, token } = await createToken('ada', { roles: ['admin'] });
    const { page } = await enterWith(token, `tokens/${id}`);
    await page.getByText('you are signed in with it').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('It is the last valid token of an administrator').waitFor();
    await dialog.getByText(/\d+ sessions? of this console/).waitFor();
    await dialog.getByLabel(/Type/).fill('ada');
    await dialog.getByRole('button', { name: 'Delete token' }).click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
  });

  test('tokens unused for 90 days are filtered, and who can read secrets is said in words', async () => {
    const key = await createKey(service, 'read.example');
    await createToken('sees', { roles: ['keymanager'] });
    await createToken('narrow', { roles: ['keymanager'], keys: [key.id] });
    const { page } = await enter('tokens?unused=90');
    await page.getByText('No token matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('Only 1 key').waitFor();
    await page.getByRole('link', { name: 'Who can read secrets' }).click();
    const tokens = page.getByRole('region', { name: 'Tokens' });
    await tokens.getByRole('link', { name: 'sees' }).waitFor();
    await page.getByText(/Everybody with the role keymanager/).waitFor();
    await page.goto(`${service.url}/console/keys/${key.id}`);
    await page.getByRole('link', { name: 'Who can read it' }).click();
    await tokens.getByText('Only the key').waitFor();
    await page.getByText('Of the key read.example').waitFor();
  });
});

describe.skipIf(!hasChromium())('with `console.confirmReveal: recent`', () => {
  const { start, enter } = consolePages();

  test('a secret is shown after a new sign-in, and not after its refusal', async () => {
    let offset = 0;
    const service = await startTestService(
      { TSIGIL_CONSOLE_CONFIRM_REVEAL: 'recent' },
      { clock: createClock(() => Date.now() + offset * 1000) },
    );
    await start(service);
    const { id } = await createKey(service, 'confirmed.example');
    const { secret } = (await service.get(`/v2/tsigkeys/${id}`)).body;
    const { page } = await enter(`keys/${id}`);
    offset = 1000;
    const show = page.getByRole('button', { name: 'Show the secret' });
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await show.click();
    await again.getByText('more than 15 minutes ago').waitFor();
    await shoot(page, 'sign-in-again');
    await again.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Your sign-in is more than 15 minutes old.').waitFor();
    await show.click();
    await again.getByLabel('Token').fill(service.token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(secret.match(/.{1,4}/g)?.join(' ') ?? '').waitFor();
    expect(await again.count()).toBe(0);
  });
});
