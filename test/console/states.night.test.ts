import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  hasChromium,
  openConsole,
  shoot,
  signInOn,
  startChromium,
} from '../harness/chromium.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const MISSING = '2d1b0a1e-6f0d-4f2b-9c1a-000000000000';

interface Screen {
  readonly path: string;
  /** The right without which nobody sees it. */
  readonly right: string;
  /** What it says if there is nothing. Absent if there is always something. */
  readonly empty?: string;
  /** The filter that finds nothing. */
  readonly filter: string;
  readonly unmatched: string;
  /** What it could not read. */
  readonly what: string;
  /** Whether each of its rows has a page. */
  readonly hasPages?: false;
}

const SCREENS: readonly Screen[] = [
  {
    path: 'keys',
    right: 'tsigkeys:list',
    empty: 'No keys yet',
    filter: 'q=nowhere',
    unmatched: 'No key matches',
    what: 'the keys',
  },
  {
    path: 'zones',
    right: 'zones:list',
    empty: 'No zones yet',
    filter: 'q=nowhere',
    unmatched: 'No zone matches',
    what: 'the zones',
  },
  {
    path: 'tlds',
    right: 'tlds:list',
    empty: 'No top-level domains yet',
    filter: 'q=nowhere',
    unmatched: 'No top-level domain matches',
    what: 'the top-level domains',
    hasPages: false,
  },
  {
    path: 'nameservers',
    right: 'nameservers:list',
    empty: 'No name servers yet',
    filter: 'q=nowhere',
    unmatched: 'No name server matches',
    what: 'the name servers',
  },
  {
    path: 'pools',
    right: 'pools:list',
    filter: 'q=nowhere',
    unmatched: 'No pool matches',
    what: 'the pools',
  },
  {
    path: 'tokens',
    right: 'tokens:list',
    empty: 'No tokens yet',
    filter: 'q=nowhere',
    unmatched: 'No token matches',
    what: 'the tokens',
  },
  {
    path: 'audit',
    right: 'audit:list',
    filter: 'outcome=failed',
    unmatched: 'No record matches',
    what: 'the records',
    hasPages: false,
  },
];

const LOOKS: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
];

describe.skipIf(!hasChromium())('the states of the screens of the console', () => {
  let browser: Browser;
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ TSIGIL_POLICY: '{"tlds:get": [admin, guest]}' });
    browser = await startChromium();
  });

  /** Signs in, and returns how a page is looked at. */
  async function lookAs(token: string, look: string, options: BrowserContextOptions) {
    const opened = await openConsole(browser, service, options);
    await signInOn(opened, token);
    const record = async (name: string) => {
      await shoot(opened.page, `${name}-${look}`);
      await expectAccessible(opened.page);
    };
    return { ...opened, record };
  }

  /** Keeps all requests to the API back, and returns what lets them through. */
  async function holdApi(page: Page): Promise<() => Promise<void>> {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/v2/**', async (route) => {
      await released;
      await route.continue();
    });
    return () => {
      release();
      return page.unrouteAll({ behavior: 'wait' });
    };
  }

  test.each(LOOKS)('%s: empty, filtered to nothing, loading, failed, gone', async (...given) => {
    const { page, open, context, record, complaints } = await lookAs(service.token, ...given);
    const loadSlowly = async (path: string, name: string, sign: Locator) => {
      const release = await holdApi(page);
      await open(path);
      await sign.waitFor({ state: 'attached' });
      await record(`${name}-loading`);
      await release();
      await sign.waitFor({ state: 'detached' });
    };
    const fail = async (path: string, name: string, what: string) => {
      await page.route('**/v2/**', (route) => route.abort());
      await open(path);
      const failure = page.getByText(`Could not read ${what}.`);
      await failure.waitFor();
      await record(`${name}-failed`);
      await page.unroute('**/v2/**');
      await page.getByRole('button', { name: 'Try again' }).click();
      await failure.waitFor({ state: 'detached' });
      expect(complaints.splice(0).filter((text) => !text.includes('ERR_FAILED'))).toEqual([]);
    };
    await loadSlowly('', 'overview', page.getByText('Reading the state of the service'));
    await fail('', 'overview', 'the state of the service');
    for (const { path, empty, filter, unmatched, what, hasPages } of SCREENS) {
      await open(path);
      if (empty !== undefined) {
        await page.getByRole('heading', { name: empty }).waitFor();
        await record(`${path}-empty`);
      }
      await open(`${path}?${filter}`);
      await page.getByRole('heading', { name: unmatched }).waitFor();
      await record(`${path}-filtered`);
      await loadSlowly(path, path, page.locator('.skeleton').first());
      await fail(path, path, what);
      if (hasPages === false) continue;
      await open(`${path}/${MISSING}`);
      await page.getByText('It was deleted, or the link is wrong.').waitFor();
      await record(`${path}-gone`);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  test.each(LOOKS)('%s: without the right, which the page names', async (...given) => {
    const [look] = given;
    const { body } = await service.post('/v2/tokens', { name: look, roles: ['guest'] });
    const { page, open, context, record, complaints } = await lookAs(body.token, ...given);
    await page.getByRole('main').getByRole('region').first().waitFor();
    await record('overview-denied');
    for (const { path, right } of SCREENS) {
      await open(path);
      await page.getByText(`Seeing this page needs the right ${right}`).waitFor();
      await record(`${path}-denied`);
    }
    expect(complaints).toEqual([]);
    await context.close();
    await service.delete(`/v2/tokens/${body.id}`);
  });
});
