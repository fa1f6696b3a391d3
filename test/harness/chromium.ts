import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { atEnd } from './leftovers.ts';
import type { TestService } from './service.ts';
import { START_MS, startAgainIfFailed } from './starts.ts';
import { isMet } from './tools.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The programs that serve. Without the windows of a desktop, Chromium needs half the CPU time. */
const { CHROMIUM } = process.env;
const PROGRAMS = CHROMIUM === undefined ? ['chromium-headless-shell', 'chromium'] : [CHROMIUM];
const SHOTS = join(import.meta.dirname, '../../var/console');

/** How every screen is looked at. */
export const LOOKS: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
];

/** The rules that every screen meets: WCAG 2.2 AA, and best practice. */
const RULES = [...['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], 'best-practice'];

/** Returns the path of Chromium, or undefined if it is not installed. */
function findChromium(): string | undefined {
  const script = 'for each; do command -v "$each" && exit; done';
  const { stdout } = spawnSync('sh', ['-c', script, 'sh', ...PROGRAMS], { encoding: 'utf8' });
  return stdout.trim() || undefined;
}

/** Returns whether the tests of the console can run. */
export function hasChromium(): boolean {
  return isMet(() => findChromium() !== undefined, {
    name: 'chromium',
    absence: `${PROGRAMS.join(' or ')} is not installed`,
    debianPackage: 'chromium-headless-shell',
  });
}

export async function startChromium(...flags: readonly string[]): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('Chromium is not installed');
  const options = { executablePath, args: [...FLAGS, ...flags], timeout: START_MS };
  const browser = await startAgainIfFailed('Chromium', () => chromium.launch(options));
  atEnd(() => browser.close());
  return browser;
}

/** A page of the console, with what its browser complained about. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Warnings and errors in the console, refusals by the content security policy, exceptions, and
   * requests elsewhere.
   */
  readonly complaints: string[];
  /** Opens a page of the console, such as `keys`. */
  open(path: string): Promise<void>;
}

/** What Chromium logs for each response of an error. The page shows those itself. */
const RESPONSE = /^Failed to load resource: the server responded with a status of 4/;

/** Opens the console in a new context, which is signed in if it has a cookie. */
export async function openConsole(
  browser: Browser,
  { url }: Pick<TestService, 'url'>,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext(
    Object.assign({ viewport: { width: 1280, height: 800 } }, options),
  );
  context.setDefaultTimeout(START_MS); // of each wait for an element or a page
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !RESPONSE.test(message.text()))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { origin, pathname } = new URL(request.url());
    const isOwn = origin === url && /^\/(?:$|v2\/|console\/)/.test(pathname);
    if (!isOwn) complaints.push(`A request to ${request.url()}`);
  });
  const open = async (path: string) => {
    await page.goto(`${url}/console/${path}`);
  };
  return { page, context, complaints, open };
}

/** Signs in through the page, and returns the cookies for other contexts. */
export async function signInOn({ page, context, open }: ConsolePage, token: string) {
  await open('');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return context.storageState();
}

/**
 * Opens pages of one service for the tests of a file, signed in with its token. Call `start` before
 * them. After each test, expects no complaint of a browser, and only requests that the description
 * of the API has, so that a token could make them.
 */
export function consolePages() {
  const opened: ConsolePage[] = [];
  let started: { readonly browser: Browser; readonly service: TestService } | undefined;
  let cookies: Awaited<ReturnType<ConsolePage['context']['storageState']>>;
  let documented: RegExp;
  afterEach(async () => {
    const pages = opened.splice(0);
    for (const { context } of pages) await context.close();
    expect(pages.flatMap(({ complaints }) => complaints)).toEqual([]);
  });
  /** Opens a console that is not signed in. */
  const openNew = async (options: BrowserContextOptions = {}) => {
    if (started === undefined) throw new Error('The pages have no service');
    const page = await openConsole(started.browser, started.service, options);
    page.page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      const what = `${request.method()} ${pathname}`;
      if (pathname.startsWith('/v2/') && !documented.test(what))
        page.complaints.push(`${what} is not documented`);
    });
    opened.push(page);
    return page;
  };
  return {
    /** Opens a page for the caller of a token. */
    async enterWith(token: string, path: string): Promise<ConsolePage> {
      const page = await openNew();
      await signInOn(page, token);
      await page.open(path);
      return page;
    },
    async start(service: TestService) {
      const { paths } = (await service.get('/openapi.json')).body;
      documented = operationsOf(paths);
      const browser = await startChromium();
      started = { browser, service };
      const first = await openConsole(browser, service);
      cookies = await signInOn(first, service.token);
      await first.context.close();
    },
    openNew,
    async enter(path: string): Promise<ConsolePage> {
      const page = await openNew({ storageState: cookies });
      await page.open(path);
      return page;
    },
  };
}

/** Returns what matches the method and the path of each operation that an OpenAPI document has. */
function operationsOf(paths: Readonly<Record<string, object>>): RegExp {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}`,
    ),
  );
  return new RegExp(`^(?:${operations.join('|')})$`);
}

/** Writes a picture of the page to var/console. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Expects that a page meets the rules. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResult, string[]>(
    (rules) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } }).axe.run({
        runOnly: rules,
        resultTypes: ['violations'],
      }),
    RULES,
  );
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`).join('\n')).toBe('');
}
