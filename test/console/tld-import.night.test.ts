import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium } from '../harness/chromium.ts';
import { hasPublicSuffixList, PUBLIC_SUFFIX_LIST } from '../harness/public-suffix-list.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.skipIf(!hasChromium())('the import of top-level domains', () => {
  let service: TestService;
  const { start, enter } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  test('a text that is no list changes nothing', async () => {
    const { page } = await enter('tlds/import');
    const field = page.getByLabel('List', { exact: true });
    await field.fill('<html> <b>404</b> <a href="x">\n'.repeat(30));
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('heading', { name: 'Nothing would change' }).waitFor();
    await page.getByText('30 refused').waitFor();
    await field.fill('# nothing\n');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByText('0 refused').waitFor();
    // More entries than one request can have.
    const lines = Array.from({ length: 20_001 }, (_, index) => `d${index}\n`);
    await page.getByLabel('Or a file').setInputFiles({
      name: 'list.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from(lines.join('')),
    });
    await page.getByText('Read as').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('alert').getByText('20000').waitFor();
  });

  test.runIf(hasPublicSuffixList())('imports the Public Suffix List', async () => {
    const { page } = await enter('tlds/import');
    await page.getByLabel('Or a file').setInputFiles(PUBLIC_SUFFIX_LIST);
    await page.getByLabel('Remove the entries').check();
    await page.getByRole('button', { name: 'Show what would change' }).click();
    const apply = page.getByRole('button', { name: /^Apply/ });
    const number = /[\d,]+/.exec((await apply.textContent()) ?? '')?.[0].replaceAll(',', '') ?? '';
    expect(Number(number)).toBeGreaterThan(5000);
    await apply.click();
    await page.getByLabel(/^Type/).fill(number);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Apply/ })
      .click();
    await page.getByText('changes applied').waitFor();
    expect((await service.get('/v2/tlds?name=co.uk')).body.tlds).toHaveLength(1);
  });
});
