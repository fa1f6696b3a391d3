import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bind as brand } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  verdictOf,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.runIf(brand.isInstalled())('a service with a BIND server', () => {
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
    await createZones(service);
  });
  afterAll(async () => {
    await service.close();
    await bind.remove();
  });

  test('registers and verifies the name server in its configuration', async () => {
    await expect
      .poll(() => shownServer(service))
      .toMatchObject({ name: 'ns1', state: 'live', error: null, pending_since: null });
  });

  test('a key with scope ZONE works for its zone only', async () => {
    const key = await createKey(service, 'zonal', await inZone(service, 'b.test'));
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    expect([await verdictOf(bind, key, { zone: 'b.test' }), await verdictOf(bind, key)]).toEqual([
      'good',
      'not authorised',
    ]);
  });

  test('a new secret works, and the former secret does not', async () => {
    const key = await createKey(service, 'rotated');
    await deliveries(service, key.id);
    const secret = randomBytes(32).toString('base64');
    await service.patch(`/v2/tsigkeys/${key.id}`, { secret });
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    expect([await verdictOf(bind, { ...key, secret }), await verdictOf(bind, key)]).toEqual([
      'good',
      'wrong secret',
    ]);
  });

  test('a stopped server is reported, and gets the keys after its restart', async () => {
    await bind.stop();
    const key = await createKey(service, 'waiting');
    await expect.poll(async () => (await deliveries(service, key.id, 0)).state).toBe('failed');
    expect(await shownServer(service)).toMatchObject({
      state: 'failed',
    });
    await bind.start();
    await service.post(`/v2/nameservers/${(await shownServer(service)).id}/reconcile`, {
      confirm: false,
    });
    await expect.poll(async () => (await deliveries(service, key.id, 0)).state).toBe('delivered');
    expect(await verdictOf(bind, key)).toBe('good');
  });

  test('the check lists every requirement, and neither metrics nor log contain a secret', async () => {
    const key = await createKey(service, 'quiet');
    await deliveries(service, key.id);
    const check = (await service.get(`/v2/nameservers/${(await shownServer(service)).id}/check`))
      .body as {
      requirements: { ok: boolean }[];
    };
    expect(check.requirements.map(({ ok }) => ok)).not.toContain(false);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toMatch(
      /tsigil_delivery_passes_total\{name_server="ns1",result="changed"\} \d+/,
    );
    expect(metrics).toMatch(/tsigil_name_server_state\{name_server="ns1",state="live"\} 1/);
    const shown = metrics + service.log.join('');
    expect([shown.includes(key.secret), metrics.includes('quiet')]).toEqual([false, false]);
    expect(service.log.join('')).toContain('Delivered keys to a name server');
  });
});

test.runIf(brand.isInstalled())(
  'a server that accepts unsigned transfers is `open`, and the check reports the problem',
  async () => {
    const open = await startDeliveryServer({
      ...brand,
      configure(folder, port, controlPort) {
        brand.configure(folder, port, controlPort);
        const file = join(folder, 'named.conf');
        const text = readFileSync(file, 'utf8');
        writeFileSync(file, text.replaceAll('allow-transfer { ', 'allow-transfer { any; '));
      },
    });
    onTestFinished(() => open.remove());
    const service = await startTestService(delivering(open));
    onTestFinished(() => service.close());
    await expect
      .poll(() => shownServer(service))
      .toMatchObject({
        state: 'open',
        error_code: 'open',
      });
    const { id } = await shownServer(service);
    const { body } = await service.get(`/v2/nameservers/${id}/check`);
    const { requirements } = body as { requirements: { ok: boolean; problem: string | null }[] };
    expect(requirements.filter(({ ok }) => !ok)).toMatchObject([
      { problem: "The name server accepts unsigned requests for zone 'a.test.': transfer." },
    ]);
    expect(service.log.join('')).toContain('A name server accepts unsigned requests');
  },
);
