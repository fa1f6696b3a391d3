import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, expectAccessible, hasChromium } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.skipIf(!hasChromium())('zones, top-level domains and pools in the console', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  /** Makes these the only top-level domains. */
  const allowOnly = (
    ...tlds: readonly { readonly name: string; readonly description?: string }[]
  ) => service.post('/v2/tlds/bulk', { replace: true, tlds });

  test('an entry is added, refused, changed and removed', async () => {
    await allowOnly();
    const { page } = await enter('tlds');
    await page.getByText('Without an entry, zones may have any name').waitFor();
    await page.getByRole('button', { name: 'New top-level domain' }).first().click();
    const form = page.getByRole('dialog', { name: 'New top-level domain' });
    await form.getByLabel('Name').fill('not good');
    await form.getByRole('button', { name: 'Create top-level domain' }).click();
    await form.getByText('must consist of labels').waitFor();
    await form.getByLabel('Name').fill('test');
    await form.getByRole('button', { name: 'Create top-level domain' }).click();
    await page.getByText('1 top-level domain', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'test', exact: true }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit top-level domain' });
    await edit.getByLabel('Description').fill('For tests');
    await edit.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('definition').filter({ hasText: 'For tests' }).waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete top-level domain' }).click();
    await page.getByText('Without an entry, zones may have any name').waitFor();
    await expectAccessible(page);
  });

  test('several entries are chosen, and removed after their number is typed', async () => {
    const former = { name: 'test', description: 'For tests' };
    await allowOnly({ name: 'one' }, former, { name: 'three' }, { name: 'two' });
    const { page } = await enter('tlds');
    for (const name of ['one', 'test', 'three'])
      await page.getByRole('checkbox', { name: `Select ${name}` }).check();
    await page.getByRole('button', { name: 'Remove 3 selected…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove 3 top-level domains?' });
    await dialog.getByText('one, test, three').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Remove 3 top-level domains' });
    expect(await confirm.isEnabled()).toBe(false);
    await dialog.getByLabel(/Type/).fill('3');
    await confirm.click();
    await page.getByText('1 top-level domain', { exact: true }).waitFor();
  });

  test('an import says what it would change and refuses, and changes it after its number is typed', async () => {
    const listed = { name: 'test', description: 'For "tests", here' };
    await allowOnly({ name: 'kept' }, listed);
    const { page } = await enter('tlds');
    await page.getByRole('link', { name: 'Import a list' }).click();
    await page
      .getByLabel('List', { exact: true })
      .fill('test,Changed\nnot good\nnew,"A\ncompany"\nbücher\nnew\n-bad\n');
    await page.getByLabel('Remove the entries').check();
    await page.getByRole('button', { name: 'Show what would change' }).click();
    const changes = page.getByRole('region', { name: 'What would change' });
    await changes.getByText('2 added').waitFor();
    for (const text of ['1 changed', '1 removed', '0 left alone', '3 refused'])
      await changes.getByText(text).waitFor();
    for (const text of [
      /^Line 2: not good: 'name' must consist/,
      /^Line 6: new: line 3 has/,
      /^Line 7: -bad/,
    ])
      await changes.getByText(text).waitFor();
    await changes.getByText('Changed: 1').click();
    await changes.getByText('test: ‘For "tests", here’ → ‘Changed’').waitFor();
    await expectAccessible(page);
    const { body } = await service.get('/v2/tlds?sort_key=name');
    expect(body.tlds).toMatchObject([{ name: 'kept' }, listed]);
    await changes.getByRole('button', { name: 'Apply 4 changes…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Apply 4 changes?' });
    await dialog.getByLabel(/^Type/).fill('4');
    await dialog.getByRole('button', { name: 'Apply 4 changes' }).click();
    await page.getByText('4 changes applied').waitFor();
    expect((await service.get('/v2/tlds?sort_key=name')).body.tlds).toMatchObject([
      { name: 'new', description: 'A\ncompany' },
      { name: 'test', description: 'Changed' },
      { name: 'xn--bcher-kva', description: null },
    ]);
  });

  test('names are checked, those in Unicode beside their ASCII form, and a missing entry is added from the answer', async () => {
    await allowOnly({ name: 'test' });
    const { page } = await enter('zones');
    await page.getByRole('button', { name: 'Is this name allowed?' }).click();
    const dialog = page.getByRole('dialog', { name: 'Is this name allowed?' });
    await dialog.getByLabel('Names of zones').fill('shop.test\nbücher.test, files.internal test');
    await dialog.getByRole('button', { name: 'Check' }).click();
    await dialog.getByText('2 of 4 names allowed.').waitFor();
    await dialog.getByText('bücher.test, in ASCII xn--bcher-kva.test allowed').waitFor();
    await dialog.getByRole('button', { name: /^Add ‘internal’/ }).click();
    await dialog.getByText('3 of 4 names allowed.').waitFor();
    await dialog.getByText('bücher.test, in ASCII xn--bcher-kva.test allowed').waitFor();
    const { body } = await service.get('/v2/tlds?name=internal');
    expect(body.tlds).toHaveLength(1);
    await expectAccessible(page);
    await dialog.getByLabel('Names of zones').fill('a.test '.repeat(1001));
    await dialog.getByRole('button', { name: 'Check' }).click();
    await dialog.getByRole('alert').waitFor();
  });

  test('of names in Unicode, those with an ASCII form are checked in it, and the others as they were typed', async () => {
    const spelling = 'not allowedThe name must consist of labels';
    const lines = [
      ['bücher.test.', 'bücher.test., in ASCII xn--bcher-kva.test. allowed'],
      ['_dmarc.bücher.test', '_dmarc.bücher.test, in ASCII _dmarc.xn--bcher-kva.test allowed'],
      ['пример.рф', 'пример.рф, in ASCII xn--e1afmkfd.xn--p1ai not allowedInvalid TLD'],
      ['Shop.TEST', 'Shop.TEST allowed'],
      ['ü..test', `ü..test ${spelling}`],
      // What an address would cut off, or read as a number.
      ['ü/a.test', `ü/a.test ${spelling}`],
      ['ü:80.test', `ü:80.test ${spelling}`],
      ['１２.test', `１２.test ${spelling}`],
      ['a\u200dü.test', `a\\u200dü.test ${spelling}`],
      [`${'ü'.repeat(64)}.test`, `${'ü'.repeat(64)}.test ${spelling}`],
    ] as const;
    await allowOnly({ name: 'test' });
    const { page } = await enter('zones');
    await page.getByRole('button', { name: 'Is this name allowed?' }).click();
    const dialog = page.getByRole('dialog', { name: 'Is this name allowed?' });
    await dialog.getByLabel('Names of zones').fill(lines.map(([name]) => name).join(' '));
    await dialog.getByRole('button', { name: 'Check' }).click();
    await dialog.getByText('3 of 10 names allowed.').waitFor();
    const shown = await dialog.getByRole('listitem').allTextContents();
    for (const [, line] of lines)
      expect(shown).toContainEqual(expect.stringContaining(line) as string);
  });

  test('a zone is created, refused, changed and deleted with a key of its own', async () => {
    await allowOnly({ name: 'test' });
    const { page } = await enter('zones');
    await page.getByRole('button', { name: 'New zone' }).first().click();
    const form = page.getByRole('dialog', { name: 'New zone' });
    await form.getByLabel('Name').fill('walk.nowhere.');
    await form.getByLabel('Email').fill('hostmaster@walk.test');
    await form.getByRole('button', { name: 'Create zone' }).click();
    await form.getByText('nowhere').first().waitFor();
    await form.getByLabel('Name').fill('walk.test.');
    await form.getByRole('button', { name: 'Create zone' }).click();
    await page.getByRole('heading', { name: 'walk.test.' }).waitFor();
    await page.getByText('No key opens anything here.').waitFor();

    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit zone' });
    await edit.getByLabel('TTL').fill('300');
    await edit.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('definition').filter({ hasText: /^300$/ }).waitFor();

    const id = page.url().split('/').at(-1) ?? '';
    await service.post('/v2/tsigkeys', {
      name: 'of-walk.example',
      algorithm: 'hmac-sha256',
      scope: 'ZONE',
      resource_id: id,
    });
    await page.reload();
    await page.getByRole('link', { name: 'of-walk.example' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const confirm = page.getByRole('dialog');
    await confirm.getByText('of-walk.example').waitFor();
    await confirm.getByLabel(/^Type/).fill('walk.test.');
    await confirm.getByRole('button', { name: 'Delete zone' }).click();
    await page.getByText('No zones yet').waitFor();
    await expectAccessible(page);
  });

  test('the zones of all projects are shown on demand with their project, and a reader learns which right is missing', async () => {
    const { body } = await service.post('/v2/tokens', {
      name: 'web',
      roles: ['member'],
      project_id: 'web',
    });
    const other = service.with(String(body.token));
    await other.post('/v2/zones', { name: 'other.test.', email: 'a@other.test' });
    const { page } = await enter('zones');
    await page.getByText('No zones yet').waitFor();
    const all = page.getByRole('checkbox', { name: 'All projects' });
    const project = page.getByRole('columnheader', { name: 'Project' });
    await all.check();
    const row = page.getByRole('row', { name: 'other.test.' });
    await row.getByRole('cell', { name: 'web', exact: true }).waitFor();
    await all.uncheck();
    await project.waitFor({ state: 'detached' });
    await all.check();
    await row.getByRole('link', { name: 'other.test.' }).click();
    await page.getByRole('heading', { name: 'other.test.' }).waitFor();
    const facts = page.getByRole('region', { name: 'The zone' });
    await facts.getByRole('term').filter({ hasText: 'Project' }).waitFor();
    await facts.getByRole('definition').filter({ hasText: /^web$/ }).waitFor();

    const { body: reader } = await service.post('/v2/tokens', {
      name: 'looker',
      roles: ['reader'],
      project_id: 'web',
    });
    const opened = await enterWith(String(reader.token), 'zones');
    await opened.page.getByText('Creating a zone needs the right zones:create').waitFor();
    await opened.page.getByRole('link', { name: 'other.test.' }).waitFor();
  });

  test('a pool is created, changed, and deleted once nothing is in it', async () => {
    const { page } = await enter('pools?new=1');
    const dialog = page.getByRole('dialog', { name: 'New pool' });
    await dialog.getByLabel('Name', { exact: true }).fill('anycast');
    await dialog.getByLabel('NS records').fill('first ns1.example.org.');
    await dialog.getByRole('button', { name: 'Create pool' }).click();
    await dialog.locator('.problem').first().waitFor();
    await dialog.getByLabel('NS records').fill('1 ns1.example.org.');
    await dialog.getByRole('button', { name: 'Create pool' }).click();
    await page.getByRole('heading', { name: 'anycast' }).waitFor();
    await page.getByText('ns1.example.org.').waitFor();
    await page.getByText('None, so its keys are stored here').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit pool' });
    await edit.getByLabel('Description').fill('On the anycast network');
    await edit.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('On the anycast network').waitFor();
    const id = page.url().split('/').at(-1) ?? '';
    const { body: zone } = await service.post('/v2/zones', {
      name: 'anycast.test.',
      email: 'a@b.test',
      pool_id: id,
    });
    await createKey(service, 'any.example', { resource_id: id });
    await page.reload();
    await page.getByRole('region', { name: 'Keys' }).getByText('any.example').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const remove = page.getByRole('dialog', { name: 'Delete anycast?' });
    await remove.getByText('The service refuses this while').waitFor();
    await remove.getByLabel('Type anycast to confirm').fill('anycast');
    await remove.getByRole('button', { name: 'Delete pool' }).click();
    await remove.getByRole('alert').waitFor();
    await service.call('DELETE', `/v2/zones/${String(zone.id)}`);
    await remove.getByRole('button', { name: 'Delete pool' }).click();
    await page.getByRole('heading', { name: 'Pools' }).waitFor();
    await expectAccessible(page);
  });
});
