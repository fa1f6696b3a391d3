import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.skipIf(!hasChromium())('the screen of the audit trail', () => {
  let service: TestService;
  const { start, enter } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
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
    await dialog.getByRole('link', { name: /^req-/ }).click();
    await page.getByText('1 record', { exact: true }).waitFor();
    await table.getByRole('link', { name: 'seen.example' }).click();
    await page.getByRole('heading', { name: 'seen.example' }).waitFor();
  });

  test('records are filtered by action, outcome and name, and no match says so', async () => {
    await createKey(service, 'made.example');
    const { body } = await service.post('/v2/tokens', { name: 'curious', roles: ['reader'] });
    await service.get('/v2/tsigkeys', { 'x-auth-token': body.token });
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
  });

  test('the overview has the last changes, and asks for a second administrator', async () => {
    await createKey(service, 'changed.example');
    const { page } = await enter('');
    const changes = page.getByRole('region', { name: 'Last changes' });
    await changes.getByText('changed.example').waitFor();
    await page.getByText('Give a second administrator a token').first().waitFor();
    await changes.getByRole('link', { name: 'All in audit' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
  });
});
