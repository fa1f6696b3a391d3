import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probeKey } from '../../src/nameservers/probe.ts';
import { startDeliveryBind } from '../harness/delivery-bind.ts';
import { ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

interface Deliveries {
  readonly state: string;
  readonly servers: readonly { readonly state: string; readonly error: { code: string } | null }[];
}

interface Key {
  readonly id: string;
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

describe.runIf(hasProgram('named', 'bind9'))('a service with a BIND server', () => {
  let bind: DrivenServer;
  let service: TestService;
  let serverId: string;

  beforeAll(async () => {
    let nameServers: string;
    ({ bind, nameServers } = await startDeliveryBind());
    service = await startTestService({ TSIGIL_NAME_SERVERS: nameServers });
    const project = service.with(service.token);
    for (const zone of ZONES)
      await project.post('/v2/zones', { name: `${zone}.`, email: 'hostmaster@a.test' });
    const { body } = await service.get('/v2/nameservers');
    serverId = (body as { nameservers: { id: string }[] }).nameservers[0]?.id ?? '';
  });
  afterAll(async () => {
    await service.close();
    await bind.remove();
  });

  const verdictOf = async (key: Key, right: 'transfer' | 'update' = 'transfer', zone = 'a.test') =>
    (await probeKey(key, right, { server: bind.address, zone }, Date.now)).verdict;

  async function createKey(name: string, more: object = {}): Promise<Key> {
    const { body } = await service.post('/v2/tsigkeys', {
      ...{ name, algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL },
      ...more,
    });
    return body as Key;
  }

  async function deliveries(id: string, wait = 10): Promise<Deliveries> {
    return (await service.get(`/v2/tsigkeys/${id}/deliveries?wait=${wait}`)).body as Deliveries;
  }

  test('registers the name server of its configuration, and verifies it', async () => {
    await expect
      .poll(async () => (await service.get(`/v2/nameservers/${serverId}`)).body, {
        timeout: 10_000,
      })
      .toMatchObject({ name: 'ns1', state: 'live', error: null, pending_since: null });
  });

  test('a new key works and is verified in less than a second, and a deleted one is refused', async () => {
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const began = performance.now();
      const key = await createKey(`round-${round}`);
      const { state, servers } = await deliveries(key.id);
      times.push(performance.now() - began);
      expect([state, servers.length, await verdictOf(key)]).toEqual(['delivered', 1, 'good']);
      await service.delete(`/v2/tsigkeys/${key.id}`);
      await expect.poll(() => verdictOf(key), { timeout: 5000, interval: 20 }).toBe('unknown key');
    }
    expect(times.toSorted((one, other) => one - other)[2]).toBeLessThan(1000);
  });

  test('a key of a zone works for that zone only', async () => {
    const { body } = await service.get('/v2/zones?name=b.test.', { 'x-auth-all-projects': 'true' });
    const zone = (body as { zones: { id: string }[] }).zones[0]?.id;
    const key = await createKey('zonal', { scope: 'ZONE', resource_id: zone });
    expect((await deliveries(key.id)).state).toBe('delivered');
    expect([await verdictOf(key, 'transfer', 'b.test'), await verdictOf(key)]).toEqual([
      'good',
      'not authorised',
    ]);
  });

  test('a new secret works, and the former one does not', async () => {
    const key = await createKey('rotated');
    await deliveries(key.id);
    const secret = randomBytes(32).toString('base64');
    await service.patch(`/v2/tsigkeys/${key.id}`, { secret });
    expect((await deliveries(key.id)).state).toBe('delivered');
    expect([await verdictOf({ ...key, secret }), await verdictOf(key)]).toEqual([
      'good',
      'wrong secret',
    ]);
  });

  test('a stopped server is reported, and gets the keys when it is back', async () => {
    await bind.stop();
    const key = await createKey('waiting');
    await expect
      .poll(async () => (await deliveries(key.id, 0)).state, { timeout: 15_000 })
      .toBe('failed');
    expect((await service.get(`/v2/nameservers/${serverId}`)).body).toMatchObject({
      state: 'failed',
    });
    await bind.start();
    await service.post(`/v2/nameservers/${serverId}/reconcile`, { confirm: false });
    await expect
      .poll(async () => (await deliveries(key.id, 0)).state, { timeout: 15_000 })
      .toBe('delivered');
    expect(await verdictOf(key)).toBe('good');
  });

  test('the check lists every requirement, and metrics and log name no key secret', async () => {
    const key = await createKey('quiet');
    await deliveries(key.id);
    const check = (await service.get(`/v2/nameservers/${serverId}/check`)).body as {
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
