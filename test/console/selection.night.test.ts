import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey, DEFAULT_POOL } from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService, type TestService } from '../harness/service.ts';

// What the pages have, in the functions that run there.
declare const document: { readonly activeElement: { readonly tagName: string } | null };

describe.skipIf(!hasChromium())('several rows of a list', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await service.post('/v2/nameservers', {
      name: 'ns1',
      pool_id: DEFAULT_POOL,
      driver: 'nsd',
      address: '192.0.2.53',
      delivery: 'agent',
    });
    await start(service);
  });

  const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}` });
  const selected = (page: Page, number: number) =>
    page.getByRole('status').filter({ hasText: `${number} selected` });

  test('keys are chosen with the mouse and with x, stay chosen when the list is read again, and are deleted after their number is typed', async () => {
    for (const letter of ['a', 'b', 'c', 'd', 'e'])
      await createKey(service, `${letter}.several.example`);
    const { page } = await enter('keys?q=several');
    await box(page, 'a.several.example').check();
    await box(page, 'c.several.example').click({ modifiers: ['Shift'] });
    await selected(page, 3).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await selected(page, 4).waitFor();
    expect(await box(page, 'd.several.example').isChecked()).toBe(true);
    await page.keyboard.press('x');
    await selected(page, 3).waitFor();

    const [first] = (await service.get('/v2/tsigkeys?name=a.several.example')).body.tsigkeys;
    await service.patch(`/v2/tsigkeys/${first.id}`, { name: 'a2.several.example' });
    await page.getByRole('link', { name: 'a2.several.example' }).waitFor();
    await createKey(service, '0.several.example');
    await page.getByRole('link', { name: '0.several.example' }).waitFor();
    for (const name of ['a2', 'b', 'c'])
      expect(await box(page, `${name}.several.example`).isChecked()).toBe(true);
    await page.getByRole('link', { name: 'e.several.example' }).click();
    await page.getByRole('heading', { name: 'e.several.example' }).waitFor();
    await page.goBack();
    await selected(page, 3).waitFor();

    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 3 keys?' });
    await dialog.getByText('a2.several.example, b.several.example, c.several.example').waitFor();
    await dialog.getByText('These name servers lose them within seconds: ns1.').waitFor();
    await dialog.getByText('The logs of ns1 do not show every use').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Delete 3 keys' });
    expect(await confirm.isEnabled()).toBe(false);
    await dialog.getByLabel(/Type/).fill('3');
    await confirm.click();
    await page.getByText('3 keys deleted').waitFor();
    await page.getByText('3 keys', { exact: true }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    const left = (await service.get('/v2/tsigkeys?name=*several*')).body.tsigkeys;
    expect(left.map(({ name }: { name: string }) => name).sort()).toEqual(
      ['0', 'd', 'e'].map((name) => `${name}.several.example`),
    );
    // What a filter would hide is not deleted unseen.
    await box(page, 'd.several.example').check();
    await page.getByLabel('Name', { exact: true }).fill('e.several');
    await page.getByText('1 key', { exact: true }).waitFor();
    expect(await selected(page, 1).count()).toBe(0);
  });

  test('the first refusal stops the deletion, and the dialog says what was deleted, what was not, and why', async () => {
    for (const letter of ['a', 'b', 'c', 'd']) await createKey(service, `${letter}.stop.example`);
    const { page, context, complaints } = await enter('keys?q=stop');
    const idOf = async (name: string) =>
      String((await service.get(`/v2/tsigkeys?name=${name}`)).body.tsigkeys[0].id);
    await box(page, 'a.stop.example').check();
    await box(page, 'd.stop.example').click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 4 keys?' });
    await dialog.getByLabel(/Type/).fill('4');
    await service.delete(`/v2/tsigkeys/${await idOf('b.stop.example')}`);
    const cut = `**/v2/tsigkeys/${await idOf('c.stop.example')}`;
    await context.route(cut, (route) => route.abort());
    await dialog.getByRole('button', { name: 'Delete 4 keys' }).click();
    const outcome = page.getByRole('dialog', { name: '1 of 4 keys deleted' });
    await outcome.getByText('It stopped at c.stop.example').waitFor();
    await outcome.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await outcome.getByText('Deleted: a.stop.example').waitFor();
    await outcome.getByText('Deleted by somebody else before: b.stop.example').waitFor();
    await outcome.getByText('Not deleted: c.stop.example, d.stop.example').waitFor();
    await shoot(page, 'delete-outcome');
    await outcome.getByRole('button', { name: 'Close' }).click();
    await selected(page, 2).waitFor();
    await context.unroute(cut);
    complaints.splice(0); // the network was cut
    await page.getByRole('button', { name: 'Clear selection' }).click();
    expect(await selected(page, 2).count()).toBe(0);
  });

  test('what was renamed is asked for under its new name, and kept if that happens while the dialog is open', async () => {
    const keys = [
      await createKey(service, 'a.old.example'),
      await createKey(service, 'b.old.example'),
    ];
    const rename = (index: number, name: string) =>
      service.patch(`/v2/tsigkeys/${keys[index]?.id}`, { name });
    const { page } = await enter('keys?q=old.example');
    for (const name of ['a', 'b']) await box(page, `${name}.old.example`).check();
    await rename(1, 'b.new.example');
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 keys?' });
    await dialog.getByText('a.old.example, b.new.example').waitFor();
    await rename(1, 'b.newest.example');
    await dialog.getByLabel(/Type/).fill('2');
    await dialog.getByRole('button', { name: 'Delete 2 keys' }).click();
    const outcome = page.getByRole('dialog', { name: '1 of 2 keys deleted' });
    await outcome.getByText('It stopped at b.new.example, which was refused:').waitFor();
    const { tsigkeys } = (await service.get('/v2/tsigkeys?name=*.example')).body;
    expect(tsigkeys.map(({ name }: { name: string }) => name)).toContain('b.newest.example');
  });

  test('top-level domains are removed together, and return together with Undo', async () => {
    for (const name of ['one', 'two', 'three']) await service.post('/v2/tlds', { name });
    const { page } = await enter('tlds');
    const { body: before } = await service.get('/v2/tlds?sort_key=name');
    for (const name of ['one', 'two']) await box(page, name).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 top-level domains?' });
    await dialog.getByText('No new zone can end in them then.').waitFor();
    await dialog.getByLabel(/Type/).fill('2');
    await dialog.getByRole('button', { name: 'Delete 2 top-level domains' }).click();
    await page.getByText('1 top-level domain', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('3 top-level domains', { exact: true }).waitFor();
    expect((await service.get('/v2/tlds?sort_key=name')).body.tlds).toEqual(before.tlds);
    // One alone is deleted as on its own row.
    await box(page, 'one').check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog', { name: 'Remove one?' }).waitFor();
    await page.getByRole('button', { name: 'Remove domain' }).click();
    await page.getByText('2 top-level domains', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('3 top-level domains', { exact: true }).waitFor();
  });

  test('the own token is deleted last, and without the right to delete nothing can be chosen', async () => {
    const create = async (name: string, role: string) => {
      const { body } = await service.post('/v2/tokens', { name, roles: [role] });
      recordSecret(String(body.token));
      return String(body.token);
    };
    const own = await create('an-admin', 'admin');
    const reader = await create('auditor', 'auditor');
    await create('member', 'member');
    const { page } = await enterWith(own, 'tokens');
    for (const name of ['an-admin', 'member']) await box(page, name).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 tokens?' });
    await dialog.getByText('member, an-admin').waitFor();
    await dialog.getByText('You are signed in with an-admin').waitFor();
    await dialog.getByText('1 session of this console ends').waitFor();
    await dialog.getByText('Without them, no token of an administrator is valid.').waitFor();
    await dialog.getByLabel(/Type/).fill('2');
    await dialog.getByRole('button', { name: 'Delete 2 tokens' }).click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    expect((await service.get('/v2/tokens')).body.tokens).toMatchObject([{ name: 'auditor' }]);

    const seen = await enterWith(reader, 'tokens');
    await seen.page.getByRole('link', { name: 'auditor' }).waitFor();
    expect(await seen.page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0);
  });
});
