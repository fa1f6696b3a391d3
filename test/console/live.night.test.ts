import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium, signInOn } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.skipIf(!hasChromium())('the feed of changes', () => {
  let service: TestService;
  const { start, openNew } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  test('a key of another client appears in the open lists of all tabs, with one feed', async () => {
    const opened = await openNew();
    const { page, context } = opened;
    await signInOn(opened, service.token);
    const requests: { path: string; tab: Page }[] = [];
    context.on('request', (request) => {
      requests.push({ path: request.url().slice(service.url.length), tab: request.frame().page() });
    });
    const feed = context.waitForEvent('request', (request) =>
      request.url().includes('/v2/events?after='),
    );
    await opened.open('keys');
    await page.getByText('No keys yet').waitFor();
    const second = await context.newPage();
    await second.goto(`${service.url}/console/keys`);
    await second.getByText('No keys yet').waitFor();
    await feed;

    requests.length = 0;
    const answered: string[] = [];
    context.on('requestfinished', (request) => {
      const path = request.url().slice(service.url.length);
      if (/^\/v2\/(?:events|tsigkeys)\?/.test(path)) answered.push(path);
    });
    await createKey(service, 'other.example');
    for (const each of [page, second]) await each.getByText('other.example').first().waitFor();
    expect(answered[0]).toMatch(/^\/v2\/events\?/); // the lists are read because of the feed
    expect(requests.filter(({ path }) => path.startsWith('/v2/tsigkeys?'))).toHaveLength(2);
    const feeds = requests.filter(({ path }) => path.startsWith('/v2/events?'));
    expect(new Set(feeds.map(({ tab }) => tab)).size).toBeLessThanOrEqual(1);
    await createKey(service, 'later.example'); // moves no row by itself
    await page.getByRole('button', { name: '1 new. Show' }).click();
    await page.getByText('later.example').first().waitFor();

    // The other tab goes on when the one with the feed is closed.
    const next = second.waitForRequest((request) => request.url().includes('/v2/events?after='));
    await page.close();
    await next;
    await createKey(service, 'another.example');
    await second.getByRole('button', { name: '2 new. Show' }).waitFor();
  });
});
