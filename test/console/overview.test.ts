import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, expectAccessible, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey, DEFAULT_POOL } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';
import { createTlds, createZone, primary } from '../harness/zones.ts';

describe.skipIf(!hasChromium())('the overview', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  test('is what the console opens', async () => {
    const { page } = await enter('');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(page.url()).toBe(`${service.url}/console/`);
  });

  test('a line that the caller may not do says which right it needs', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'looker', roles: ['auditor'] });
    const { page } = await enterWith(String(body.token), '');
    const steps = page.getByRole('region', { name: /^Set up/ });
    await steps.getByText('Needs the right tokens:create.').waitFor();
    expect(await steps.getByRole('link', { name: /administrator/ }).count()).toBe(0);
  });

  test('zones outside the top-level domains lead to the list of them, of all projects', async () => {
    await createZone(service, primary('away.corner.'));
    await createTlds(service, 'centre');
    await createZone(service, primary('inside.centre.'));
    const { page } = await enter('');
    await page.getByRole('link', { name: /1 zone outside the top-level domains/ }).click();
    await page.getByRole('link', { name: 'away.corner.' }).waitFor();
    expect(await page.getByRole('link', { name: 'inside.centre.' }).count()).toBe(0);
    expect(await page.getByRole('checkbox', { name: 'All projects' }).isChecked()).toBe(true);
  });
});

describe.skipIf(!hasChromium())('the overview of a new service', () => {
  let service: TestService;
  const { start, enter } = consolePages();

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
  });

  test('each open line leads to where it is done, and not to a list', async () => {
    const { page, open } = await enter('');
    const steps = page.getByRole('region', { name: /^Set up/ });
    const linkOf = (text: string) => steps.getByRole('link', { name: new RegExp(text) });
    const heading = page.getByRole('heading', { level: 1 });
    const follow = async (text: string) => {
      await open('');
      await linkOf(text).click();
    };
    await steps.getByText('Create a key', { exact: true }).waitFor();
    await shoot(page, 'set-up-steps');
    const lines = await steps.locator('.need > span:nth-child(2)').allTextContents();
    expect(lines).toEqual([
      'Create a key',
      'Add a name server',
      'See unsigned requests refused',
      'See a key delivered and verified',
      'Copy the master key to a place without backups, such as a password manager',
      'Give a second administrator a token',
    ]);
    await steps.getByRole('button', { name: 'It is copied' }).click();
    await steps.getByText('password manager: done').waitFor();

    const totals = page.getByRole('region', { name: 'What is there' });
    await totals.getByRole('link', { name: '0 of 0 name servers live' }).waitFor();

    await follow('Add a name server');
    await heading.filter({ hasText: 'Add a name server' }).waitFor();
    await follow('See a key delivered and verified');
    await heading.filter({ hasText: 'Add a name server' }).waitFor();
    await follow('Create a key');
    await page.getByRole('dialog', { name: 'New key' }).waitFor();
    await follow('Give a second administrator a token');
    const dialog = page.getByRole('dialog', { name: 'New token' });
    expect(await dialog.getByRole('checkbox', { name: /^admin/ }).isChecked()).toBe(true);

    const given = {
      name: 'ns1',
      pool_id: DEFAULT_POOL,
      driver: 'knot',
      address: '192.0.2.53',
      delivery: 'agent',
    };
    const { body: server } = await service.post('/v2/nameservers', given);
    await follow('See a key delivered and verified');
    await page.getByRole('dialog', { name: 'New key' }).waitFor();
    await createKey(service, 'first.example');
    await follow('See a key delivered and verified');
    await page.waitForURL(`${service.url}/console/nameservers/${server.id}/setup`);
    await open('');
    await steps.getByText('Add a name server: done').waitFor();
    expect(await linkOf('Add a name server').count()).toBe(0);
    expect(await linkOf('Create a key').count()).toBe(0);
    await expectAccessible(page);
  });
});

describe.skipIf(!hasChromium())('the overview of a service from an older backup', () => {
  const { start, enter } = consolePages();

  test('says where delivery is held', async () => {
    const { service, createKey: create, desired, observe } = await startAgentRequests();
    await create('revoked');
    const foreign = { stamp: 'f'.repeat(16), is_foreign: true, changed: false };
    const differences = [{ kind: 'missing', key: 'revoked', message: 'It is missing.' }];
    expect((await observe(await desired(), { ...foreign, differences })).status).toBe(200);
    await start(service);
    const { page } = await enter('');
    await page.getByText('ns1: Delivery is held', { exact: true }).first().waitFor();
  });
});
