import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bind as brand } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
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
