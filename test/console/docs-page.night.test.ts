import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, expectAccessible, hasChromium, shoot } from '../harness/chromium.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { IS_LONG } from '../harness/sizes.ts';

// What the page has, in the functions that run there.
declare const document: {
  readonly documentElement: {
    readonly dataset: Readonly<Record<string, string>>;
    readonly scrollWidth: number;
    readonly clientWidth: number;
  };
  readonly activeElement: { readonly id: string } | null;
};
declare const navigator: { readonly clipboard: { readText(): Promise<string> } };
declare const scrollY: number;

describe.skipIf(!hasChromium())('the API page in a browser', () => {
  let service: TestService;
  const { start, openNew } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  async function openDocs(options: BrowserContextOptions = {}, hash = ''): Promise<Page> {
    const { page } = await openNew(options);
    await page.goto(`${service.url}/docs${hash}`);
    return page;
  }

  const visibleOperations = (page: Page) => page.locator('.operation:visible h3').allInnerTexts();

  test('search shows what has the words in its name, then what mentions them', async () => {
    const page = await openDocs();
    const all = (await visibleOperations(page)).length;
    await page.keyboard.press('Control+k');
    await page.keyboard.type('Retire KEY');
    expect(await visibleOperations(page)).toEqual([
      expect.stringContaining('Retire a TSIG key that has a successor'),
      expect.stringContaining('Restore a retired TSIG key'),
    ]);
    const contents = page.getByRole('navigation', { name: 'Contents' });
    expect(await contents.getByRole('link').allInnerTexts()).toEqual([
      'TSIG keys',
      'Retire a TSIG key that has a successor',
      'Restore a retired TSIG key',
    ]);
    await page.getByRole('button', { name: /^Show all \d+ that mention it$/ }).click();
    expect((await visibleOperations(page)).length).toBeGreaterThan(2);
    await page.keyboard.press('Escape');
    expect(await visibleOperations(page)).toHaveLength(all);
  });

  test('search filters the rows of tables, and finds members by their name', async () => {
    const page = await openDocs();
    const search = page.getByRole('searchbox', { name: 'Search operations and objects' });
    await search.fill('cursor_gone');
    const rows = page.getByRole('table', { name: 'All errors' }).getByRole('row');
    expect(await rows.allInnerTexts()).toEqual([expect.anything(), expect.stringMatching(/^410/)]);
    await search.fill('overlap_seconds');
    expect(await visibleOperations(page)).toEqual([expect.stringContaining('Replace a TSIG key')]);
    await search.fill('create xyzzy');
    await page.getByText('Nothing matches.').waitFor();
  });

  test('a link to what the search hides shows it', async () => {
    const page = await openDocs();
    const search = page.getByRole('searchbox');
    await search.fill('rotate_tsigkey');
    await page.locator('.operation:visible').getByRole('link', { name: 'TsigKey' }).click();
    expect(await search.inputValue()).toBe('');
    await expect
      .poll(() => page.locator('#schema-TsigKey h3').boundingBox())
      .toMatchObject({
        y: expect.closeTo(93, -2) as number,
      });
    expect(await page.evaluate(() => scrollY)).toBeGreaterThan(1000);
  });

  test('each example can be copied with the keyboard', async () => {
    const page = await openDocs({ permissions: ['clipboard-read', 'clipboard-write'] });
    const operation = page.getByRole('region', { name: 'Replace a TSIG key' });
    const buttons = operation.getByRole('button', { name: /^Copy/ });
    expect(await buttons.count()).toBe(await operation.locator('pre').count());
    await operation.getByRole('button', { name: 'Copy Command line, Replace a TSIG key' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Copied').waitFor({ state: 'attached' });
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      'tsigil tsigkey rotate transfer-key',
    );
  });

  test('without the right to write to the clipboard, an example is copied all the same', async () => {
    const page = await openDocs({ permissions: [] });
    await page.evaluate(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
    });
    await page.getByRole('button', { name: 'Copy Command line, Replace a TSIG key' }).click();
    await page.getByRole('status').getByText('Copied').waitFor({ state: 'attached' });
  });

  test('the page and the console have the same theme', async () => {
    const page = await openDocs();
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.goto(`${service.url}/console/`);
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
    await page.goto(`${service.url}/docs`);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });

  test('everything but the controls is there without script', async () => {
    const page = await openDocs({ javaScriptEnabled: false });
    expect((await visibleOperations(page)).length).toBeGreaterThan(80);
    expect(await page.getByRole('button').count()).toBe(0);
    expect(await page.getByRole('searchbox').count()).toBe(0);
  });

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)(
    '%s at %i px is accessible and does not scroll sideways',
    async (colorScheme, width) => {
      const viewport = { width, height: 800 };
      const page = await openDocs({ bypassCSP: true, colorScheme, viewport }, '#rotate_tsigkey');
      const fits = () =>
        page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          return scrollWidth <= clientWidth;
        });
      expect(await fits()).toBe(true);
      await shoot(page, `docs-${colorScheme}-${width}`);
      // The whole page takes axe a minute.
      if (width === 320 || !IS_LONG) await page.getByRole('searchbox').fill('rotat');
      expect(await fits()).toBe(true);
      await expectAccessible(page);
    },
  );
});
