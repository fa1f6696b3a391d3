import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { backup } from '../delivery/database.ts';
import { bind } from '../harness/brands/bind.ts';
import { powerdns } from '../harness/brands/powerdns.ts';
import { consolePages, hasChromium } from '../harness/chromium.ts';
import {
  createKey,
  createZones,
  DEFAULT_POOL,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  type DeliveryServer,
} from '../harness/delivery.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const isReady = hasChromium() && hasProgram('named', 'bind9');

describe.skipIf(!isReady)('name servers and pools in the console', () => {
  let server: DeliveryServer;
  let service: TestService;
  const { start, enter } = consolePages();

  beforeAll(async () => {
    server = await startDeliveryServer(bind);
    service = await startTestService(delivering(server));
    await createZones(service);
    for (const name of ['xfr-fra', 'upd-ams']) await createKey(service, `${name}.example`);
    await untilLive(service, 'ns1');
    await start(service);
  });

  test('a key is delivered on the page of a name server that has it, whatever others of the pool do', async () => {
    const idle = { name: 'idle', driver: 'bind', address: '192.0.2.1', pool_id: DEFAULT_POOL };
    const { status, body } = await service.post('/v2/nameservers', idle);
    expect(status).toBe(201);
    onTestFinished(async () => {
      await service.delete(`/v2/nameservers/${body.id}`);
    });
    const states = async (name: string) => {
      const { id } = (await service.get(`/v2/nameservers?name=${name}`)).body.nameservers[0];
      const { page } = await enter(`nameservers/${id}`);
      const keys = page.getByRole('region', { name: 'Keys' });
      return keys.getByRole('listitem').filter({ hasText: 'xfr-fra.example' });
    };
    await (await states('idle')).getByText(/^[a-z]+, transfer/).waitFor();
    await (await states('ns1')).getByText(/^transfer/).waitFor();
  });

  test('a name server that goes down is shown without a reload, with the reason', async () => {
    const { id } = await shownServer(service);
    const { page } = await enter(`nameservers/${id}`);
    await page.getByText('2 of 2 keys verified').waitFor();
    await server.stop();
    await createKey(service, 'late.example');
    await vi.waitFor(async () => expect((await shownServer(service)).state).toBe('failed'), {
      timeout: 60_000,
      interval: 50,
    });
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('Keys cannot be delivered').waitFor();
    await why.getByText('Start the name server, or correct the options').waitFor();
    await why.getByRole('table', { name: 'What was asked now' }).getByText('✕ No').waitFor();
    const keys = page.getByRole('region', { name: 'Keys' });
    await keys.getByText('late.example').waitFor();
    await server.start();
    await page.getByRole('button', { name: 'Reconcile now' }).click();
    await page.getByText('3 of 3 keys verified').waitFor();
    expect(await why.count()).toBe(0);
  });

  test('paused, changed, blocked with the list of its keys, and confirmed by its name', async () => {
    const { id } = await shownServer(service);
    const { page } = await enter(`nameservers/${id}`);
    await page.getByRole('button', { name: 'Pause delivery' }).click();
    await page.getByRole('heading', { name: 'Delivery is paused' }).waitFor();
    await page.getByRole('button', { name: 'Continue delivery' }).click();
    await page.getByRole('button', { name: 'Pause delivery' }).waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const remove = page.getByRole('dialog', { name: 'Delete ns1?' });
    await remove.getByText('xfr-fra.example').waitFor();
    await remove.getByLabel('Type ns1 to confirm').waitFor();
    await remove.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit name server' });
    await edit.getByLabel('Description').fill('Primary in Geneva');
    await edit.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Primary in Geneva').waitFor();

    for (let index = 0; index < 12; index += 1) await createKey(service, `k${index}.example`);
    await untilLive(service, 'ns1');
    const { body: pool } = await service.post('/v2/pools', { name: 'other' });
    await service.call('PATCH', `/v2/nameservers/${id}`, { pool_id: pool.id });
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('A change would remove most of its keys').waitFor();
    await why.getByText(/It would lose: .*k7\.example/).waitFor();
    await page.getByRole('button', { name: 'Confirm the removal…' }).click();
    const confirm = page.getByRole('dialog', { name: 'Remove these keys from it?' });
    await confirm.getByLabel('Type ns1 to confirm').fill('ns1');
    await confirm.getByRole('button', { name: 'Remove keys' }).click();
    await why.waitFor({ state: 'detached' });
    await page.getByText('No key yet').waitFor();
    await page.getByRole('link', { name: 'other' }).first().click();
    await page.getByRole('heading', { name: 'other' }).waitFor();
    await page.getByRole('region', { name: 'Name servers' }).getByRole('link').waitFor();
  });

  test('its keys are released, and a name server without delivery says so', async () => {
    const { id } = await shownServer(service);
    const { page } = await enter(`nameservers/${id}`);
    await page.getByRole('button', { name: 'Release its keys…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Give its keys back to its operator?' });
    await dialog.getByText('tsigil nameserver release ns1 --write').waitFor();
    const release = dialog.getByRole('button', { name: 'Release keys' });
    expect(await release.getAttribute('aria-disabled')).toBe('true'); // until the name is typed
    await dialog.getByLabel('Type ns1 to confirm').fill('ns1');
    await release.click();
    await page.getByRole('heading', { name: 'Delivery is paused' }).waitFor();
    expect((await shownServer(service)).state).toBe('paused');
  });
});

describe.skipIf(!hasChromium() || !powerdns.isInstalled())(
  'a name server in the console after the restore of an older backup',
  () => {
    const { start, enter } = consolePages();

    test('says what resuming would change, resumes, and names the keys that only the server has', async () => {
      const folder = temporaryFolder();
      const server = await startDeliveryServer(powerdns);
      onTestFinished(() => server.remove());
      const database = await testDatabase(folder);
      const serve = (url: string) =>
        startTestService({ ...delivering(server), TSIGIL_DATABASE_URL: url }, { folder });
      const untilDelivered = (client: TestService, { id }: { readonly id: string }) =>
        expect.poll(async () => (await deliveries(client, id)).state).toBe('delivered');

      const before = await serve(database);
      await createZones(before);
      const revoked = await createKey(before, 'revoked');
      await untilDelivered(before, revoked);
      await before.close();
      const restored = await backup(database, folder);
      const newer = await serve(database);
      await newer.delete(`/v2/tsigkeys/${revoked.id}`);
      await untilDelivered(newer, await createKey(newer, 'newer'));
      await newer.close();

      const service = await serve(restored);
      await expect.poll(async () => (await shownServer(service)).state).toBe('held');
      await start(service);
      const { page } = await enter(`nameservers/${(await shownServer(service)).id}`);
      const why = page.getByRole('region', { name: 'Why' });
      await why.getByText('1 key would be added.').waitFor();
      await page.getByRole('button', { name: 'Resume delivery…' }).click();
      const resume = page.getByRole('dialog', { name: 'Resume the delivery?' });
      await resume.getByText('revoked', { exact: true }).waitFor();
      await resume.getByLabel('Type ns1 to confirm').fill('ns1');
      await resume.getByRole('button', { name: 'Resume delivery' }).click();
      await untilLive(service);
      await why.waitFor({ state: 'detached' });

      const facts = page.getByRole('region', { name: 'The name server' });
      const unknown = facts.getByRole('definition').filter({ hasText: powerdns.foreign });
      await unknown.filter({ hasText: 'newer' }).waitFor();
      await page.close(); // It would go on reading.
      await service.close();
    });
  },
);
