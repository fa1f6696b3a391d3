import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  hasChromium,
  LOOKS,
  openConsole,
  shoot,
  signInOn,
  startChromium,
} from '../harness/chromium.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const MISSING = '2d1b0a1e-6f0d-4f2b-9c1a-000000000000';

/** The lists: the right without which nobody sees one, and what one of its rows is called. */
const SCREENS = [
  ['keys', 'tsigkeys:list', 'key'],
  ['zones', 'zones:list', 'zone'],
  ['tlds', 'tlds:list', 'top-level domain'],
  ['nameservers', 'nameservers:list', 'name server'],
  ['pools', 'pools:list', 'pool'],
  ['tokens', 'tokens:list', 'token'],
  ['audit', 'audit:list', 'record'],
] as const;

/** The screens that are no list, and what each reads. */
const OTHERS: readonly (readonly [path: string, name: string, what: string])[] = [
  ['', 'overview', 'the state of the service'],
];

/** The screens that always have a row. */
const FILLED = ['pools', 'audit'];

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
    for (const [path, name, what] of OTHERS) {
      await loadSlowly(path, name, page.getByText(`Reading ${what}`));
      await fail(path, name, what);
    }
    for (const [path, , word] of SCREENS) {
      await open(path);
      if (!FILLED.includes(path)) {
        await page.getByRole('heading', { name: `No ${word}s yet` }).waitFor();
        await record(`${path}-empty`);
      }
      await open(`${path}?${path === 'audit' ? 'outcome=failed' : 'q=nowhere'}`);
      await page.getByRole('heading', { name: `No ${word} matches` }).waitFor();
      await record(`${path}-filtered`);
      await loadSlowly(path, path, page.getByText(`Reading the ${word}s…`));
      await fail(path, path, `the ${word}s`);
      if (path === 'audit') continue;
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
    for (const [path, name] of OTHERS) {
      await open(path);
      await page.getByRole('main').getByRole('region').first().waitFor();
      await record(`${name}-denied`);
    }
    for (const [path, right] of SCREENS) {
      await open(path);
      await page.getByText(`Seeing this page needs the right ${right}`).waitFor();
      await record(`${path}-denied`);
    }
    expect(complaints).toEqual([]);
    await context.close();
    await service.delete(`/v2/tokens/${body.id}`);
  });
});
