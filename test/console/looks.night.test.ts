import { existsSync, readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import {
  expectAccessible,
  hasChromium,
  LOOKS,
  openConsole,
  shoot,
  signInOn,
  startChromium,
  type ConsolePage,
} from '../harness/chromium.ts';
import {
  createKey,
  createZones,
  DEFAULT_POOL,
  delivering,
  startDeliveryServer,
  untilLive,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

// What the pages have, in the functions that run there.
declare const document: {
  readonly documentElement: Readonly<Record<'scrollWidth' | 'clientWidth', number>>;
};

const isReady = hasChromium() && hasProgram('named', 'bind9');

interface View {
  readonly name: string;
  readonly path: string;
  ready(page: Page): Promise<unknown>;
}

const NAMED_CONF = `
key xfr-ber { algorithm hmac-sha256; secret "YmVybGluLWJlcmxpbi1iZXJsaW4tYmVybGlu"; };
key xfr-osl { algorithm hmac-sha256; secret "b3Nsby1vc2xvLW9zbG8tb3Nsby1vc2xvLW9z"; };
key ddns { algorithm hmac-sha512; secret "ZGRucy1kZG5zLWRkbnMtZGRucy1kZG5zLWRk"; };
zone "one.example" { type primary; file "1"; allow-transfer { key xfr-ber; key xfr-osl; }; };
zone "two.example" { type primary; file "2"; allow-transfer { key xfr-ber; key xfr-osl; }; };
zone "three.example" { type primary; file "3"; allow-update { key ddns; }; };
zone "four.example" { type primary; file "4"; allow-transfer { !192.0.2.7; key xfr-osl; }; };
zone "five.example" { type primary; file "5"; allow-transfer { 192.0.2.0/24; }; };
`;

const VIEWS: readonly View[] = [
  {
    name: 'overview',
    path: '',
    ready: (page) => page.getByRole('region', { name: 'What is there' }).waitFor(),
  },
  {
    name: 'keys',
    path: 'keys',
    ready: (page) => page.getByText('delivered').first().waitFor(),
  },
  {
    name: 'key-import',
    path: 'keys/import',
    async ready(page) {
      await page.getByRole('textbox', { name: 'Configuration' }).fill(NAMED_CONF);
      await page.getByRole('button', { name: 'Show what would change' }).click();
      await page.getByText(/^Left in your configuration/).waitFor();
    },
  },
  {
    name: 'new-key',
    path: 'keys?new=1',
    ready: (page) => page.getByRole('dialog', { name: 'New key' }).waitFor(),
  },
  {
    name: 'key',
    path: 'keys?q=upd-ams&sort=-name',
    async ready(page) {
      await page.getByRole('link', { name: 'upd-ams.example' }).click();
      await page.getByText('Confirm all clients').waitFor();
    },
  },
  {
    name: 'export',
    path: 'keys?q=xfr-fra',
    async ready(page) {
      await page.getByRole('link', { name: 'xfr-fra.example' }).click();
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByRole('button', { name: 'Show the text for: The end that accepts' }).click();
      await page.getByText('key "xfr-fra.example"').waitFor();
    },
  },
  {
    name: 'zones',
    path: 'zones',
    ready: (page) => page.getByRole('link', { name: 'a.test.' }).waitFor(),
  },
  {
    name: 'zones-of-all',
    path: 'zones?all=1',
    ready: (page) => page.getByRole('columnheader', { name: 'Project' }).waitFor(),
  },
  {
    name: 'zone',
    path: 'zones?q=a.test.',
    async ready(page) {
      await page.getByRole('link', { name: 'a.test.' }).click();
      await page.getByText('Keys that open it').waitFor();
      await page.getByRole('link', { name: 'acme.example' }).waitFor();
    },
  },
  {
    name: 'name-check',
    path: 'zones',
    async ready(page) {
      await page.getByRole('button', { name: 'Is this name allowed?' }).click();
      await page.getByLabel('Names of zones').fill('shop.test bücher.test files.internal');
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('2 of 3 names allowed.').waitFor();
    },
  },
  {
    name: 'tlds',
    path: 'tlds',
    async ready(page) {
      await page.getByRole('checkbox', { name: 'Select test' }).check();
      await page.getByText('Remove 1 selected…').waitFor();
    },
  },
  {
    name: 'tld-import',
    path: 'tlds/import',
    async ready(page) {
      await page.getByLabel('List', { exact: true }).fill('test,Changed\nnew\nnot good');
      await page.getByRole('button', { name: 'Show what would change' }).click();
      await page.getByText('1 refused').waitFor();
    },
  },
  {
    name: 'name-servers',
    path: 'nameservers',
    ready: (page) =>
      page
        .getByText(/keys verified/)
        .first()
        .waitFor(),
  },
  {
    name: 'name-server',
    path: 'nameservers?q=ns1',
    async ready(page) {
      await page.getByRole('link', { name: 'ns1' }).click();
      await page.getByText(/keys verified/).waitFor();
      await page.getByText('xfr-fra.example').first().waitFor();
    },
  },
  {
    name: 'name-server-down',
    path: 'nameservers?q=ns2',
    async ready(page) {
      await page.getByRole('link', { name: 'ns2' }).click();
      await page.getByRole('table', { name: 'What was asked now' }).waitFor();
    },
  },
  {
    name: 'new-name-server',
    path: 'nameservers/new',
    ready: (page) => page.getByLabel('Address').waitFor(),
  },
  {
    name: 'set-up',
    path: 'nameservers?q=ns2',
    async ready(page) {
      await page.getByRole('link', { name: 'ns2' }).click();
      await page.getByRole('link', { name: 'Set up' }).click();
      await page.getByText('keys.conf').first().waitFor();
    },
  },
  {
    name: 'pools',
    path: 'pools',
    ready: (page) => page.getByRole('link', { name: 'default' }).waitFor(),
  },
  {
    name: 'pool',
    path: 'pools',
    async ready(page) {
      await page.getByRole('link', { name: 'default' }).click();
      await page.getByRole('region', { name: 'Name servers' }).getByText('ns1').waitFor();
      await page.getByRole('region', { name: 'Keys' }).getByText('acme.example').waitFor();
    },
  },
  {
    name: 'tokens',
    path: 'tokens',
    ready: (page) => page.getByText('Only 1 pool').waitFor(),
  },
  {
    name: 'new-token',
    path: 'tokens?new=1',
    ready: (page) => page.getByRole('dialog', { name: 'New token' }).waitFor(),
  },
  {
    name: 'token',
    path: 'tokens?q=ci-edge',
    async ready(page) {
      await page.getByRole('link', { name: 'ci-edge' }).click();
      await page.getByText('192.0.2.0/24').waitFor();
    },
  },
  {
    name: 'audit',
    path: 'audit',
    ready: (page) => page.getByText('hmac-sha256 → hmac-sha512').first().waitFor(),
  },
  {
    name: 'audit-record',
    path: 'audit?action=tsigkeys:update',
    async ready(page) {
      await page
        .getByRole('row', { name: /sha512/ })
        .getByRole('link')
        .first()
        .click();
      await page.getByRole('dialog', { name: 'tsigkeys:update' }).waitFor();
    },
  },
];

const TOKENS = [
  ['ada', ['admin'], {}],
  ['reporting', ['reader'], { project_id: 'web' }],
  [
    'ci-edge',
    ['keymanager'],
    {
      pools: [DEFAULT_POOL],
      addresses: ['192.0.2.0/24'],
      expires_at: '2037-01-31T12:00:00',
    },
  ],
] as const;

/** The views without secrets and without events, whose order differs. */
const LASTING = [
  'keys',
  'key-import',
  'new-key',
  'zones',
  'name-check',
  'tlds',
  'new-name-server',
  'pools',
  'new-token',
];

/** Returns the text of a view without what differs in each run: ids, times, ports and hashes. */
function withoutChanges(tree: string): string {
  return tree
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(id)')
    .replaceAll(/(?:in )?\d+ (?:s|min|h|d)\b(?: ago)?|just now/g, '(time)')
    .replaceAll(/\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?: UTC)?)?/g, '(time)')
    .replaceAll(/\b\d{10}\b/g, '(serial)')
    .replaceAll(/127\.0\.0\.1:\d+/g, '(address)');
}

describe.skipIf(!isReady)('the screens of the console', () => {
  let browser: Browser;
  let service: TestService;
  let cookies: Awaited<ReturnType<ConsolePage['context']['storageState']>>;

  beforeAll(async () => {
    const server = await startDeliveryServer(bind);
    service = await startTestService(delivering(server));
    await createZones(service);
    await service.post('/v2/tlds', { name: 'test' });
    for (const name of ['xfr-fra', 'notify-lon', 'partner-a', 'acme'])
      await createKey(service, `${name}.example`);
    await createKey(service, 'legacy.example', { algorithm: 'hmac-sha1' });
    const strong = await createKey(service, 'strong.example');
    await service.patch(`/v2/tsigkeys/${strong.id}`, { algorithm: 'hmac-sha512' });
    for (const [name, roles, further] of TOKENS)
      await service.post('/v2/tokens', Object.assign({ name, roles }, further));
    const { id } = await createKey(service, 'upd-ams.example');
    await untilLive(service, 'ns1');
    await service.post(`/v2/tsigkeys/${id}/rotate`, {});
    await untilLive(service, 'ns1');
    const { body: pool } = await service.post('/v2/pools', { name: 'unicast' });
    await service.post('/v2/nameservers', {
      name: 'ns2',
      pool_id: pool.id,
      driver: 'knot',
      address: '192.0.2.53',
      delivery: 'agent',
    });
    browser = await startChromium();
    const first = await openConsole(browser, service);
    await first.open('');
    await first.page.getByLabel('Token').waitFor();
    await shoot(first.page, 'sign-in');
    await expectAccessible(first.page);
    cookies = await signInOn(first, service.token);
    await first.context.close();
  });

  test.each(LOOKS)(
    '%s: every view has no accessibility problem',
    async (look, options) => {
      const { page, context, complaints, open } = await openConsole(
        browser,
        service,
        Object.assign({ storageState: cookies }, options),
      );
      const problems: string[] = [];
      for (const { name, path, ready } of VIEWS) {
        await open(path);
        await ready(page);
        await shoot(page, `${name}-${look}`);
        await expectAccessible(page).catch((error: unknown) =>
          problems.push(`${name}: ${String(error)}`),
        );
        const isWide = () =>
          document.documentElement.scrollWidth > document.documentElement.clientWidth;
        if (await page.evaluate(isWide)) problems.push(`${name} scrolls sideways`);
      }
      expect(problems).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    },
    180_000,
  );

  test.each([
    ['320 px', { width: 320, height: 640 }],
    ['a window of 1280 x 800 at 200 %', { width: 640, height: 400 }],
  ])(
    '%s, with forced colours and reduced motion: no view scrolls sideways',
    async (_, viewport) => {
      const { page, open, context } = await openConsole(browser, service, {
        storageState: cookies,
        viewport,
        forcedColors: 'active',
        reducedMotion: 'reduce',
      });
      const wide: string[] = [];
      for (const { name, path, ready } of VIEWS) {
        await open(path);
        await ready(page);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > viewport.width) wide.push(`${name}: ${width} px`);
      }
      expect(wide).toEqual([]);
      await context.close();
    },
  );

  test('what a screen reader gets', async () => {
    const { page, open, context } = await openConsole(browser, service, { storageState: cookies });
    for (const { name, path, ready } of VIEWS.filter((view) => LASTING.includes(view.name))) {
      const file = `views/${name}.txt`;
      const known = new URL(file, import.meta.url);
      // What is around the screens is the same for all.
      const place = name === 'keys' ? 'body' : 'main';
      let tree = '';
      // The states and names in the rows come later. A busy machine may need several attempts.
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await open(path);
        await ready(page);
        await page.waitForLoadState('networkidle');
        tree = withoutChanges(await page.locator(place).ariaSnapshot());
        if (!existsSync(known) || tree === readFileSync(known, 'utf8')) break;
      }
      await expect(tree).toMatchFileSnapshot(file);
    }
    await context.close();
  });
});
