import { beforeAll, describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { bind } from '../harness/brands/bind.ts';
import { consolePages, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey, delivering, startDeliveryServer } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

// What the pages have, in the functions that run there.
declare const scrollY: number;

const isReady = hasChromium() && hasProgram('named', 'bind9');

describe.skipIf(!isReady)('the web console', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    const server = await startDeliveryServer(bind);
    service = await startTestService(delivering(server));
    await start(service);
  });

  test('the key of another client appears in a list that is open', async () => {
    const { page } = await enter('keys?q=another');
    await page.getByText('No key matches').waitFor();
    await createKey(service, 'another.example');
    await page.getByRole('link', { name: 'another.example' }).waitFor();
  });

  test('the session ends while a form is half filled, and the form is kept over a new sign-in', async () => {
    const { body: made } = await service.post('/v2/tokens', { name: 'typing', roles: ['admin'] });
    const { page } = await enterWith(made.token, 'keys?new=1');
    const form = page.getByRole('dialog', { name: 'New key' });
    await form.getByLabel('Name', { exact: true }).fill('kept.example');
    for (const { id, credential_id: of } of (await service.get('/v2/sessions')).body.sessions)
      if (of === made.id) await service.delete(`/v2/sessions/${id}`);
    // The next request that is refused, also one of the list below, asks for a new sign-in.
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Token').fill(made.token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('kept.example');
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Key created' }).waitFor();
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
