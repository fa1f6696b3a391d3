import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { bind as brand } from '../harness/brands/bind.ts';
import { editFile } from '../harness/brands/brand.ts';
import {
  createKey,
  createZones,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  untilLive,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.runIf(brand.isInstalled())('a key manager with a limited token', () => {
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
    await createZones(service);
    const { body: pool } = await service.post('/v2/pools', { name: 'other' });
    await service.post('/v2/nameservers', {
      name: 'ns2',
      pool_id: pool.id,
      driver: 'bind',
      address: '192.0.2.1',
    });
    await service.post('/v2/zones', {
      name: 'elsewhere.test.',
      email: 'hostmaster@a.test',
      pool_id: pool.id,
    });
    await untilLive(service);
  });
  const as = async (token: string, ...argv: string[]) =>
    runInside({ variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: token } }, ...argv);
  const tokenFor = async (...limits: string[]) => {
    const name = randomUUID();
    const made = await as(
      service.token,
      'token',
      'create',
      name,
      '--role',
      'keymanager',
      ...limits,
      '-f',
      'value',
    );
    return made.out.trim();
  };
  const removing = async (token: string) => {
    const { body } = await service.with(token).get('/v2/deliveries?state=removing');
    return (body.deliveries as { key_name: string }[]).map((each) => each.key_name);
  };
  const names = ['-f', 'value', '-c', 'name'];

  test.each([
    ['--zone', 'a.test', ['a.test.']],
    ['--pool', 'default', ['a.test.', 'b.test.']],
  ])(
    'lists and shows its pool, zones and name servers by name, and creates, verifies and sees keys there: %s %s',
    async (flag, limit, zones) => {
      const token = await tokenFor(flag, limit);
      const run = (...argv: string[]) => as(token, ...argv);
      const listed = async (type: string) => {
        const { out, err } = await run(type, 'list', ...names);
        expect(err).toBe('');
        return out.trim().split('\n').sort();
      };
      expect(await listed('zone')).toEqual(zones);
      expect(await listed('pool')).toEqual(['default']);
      expect(await listed('nameserver')).toEqual(['ns1']);
      for (const argv of [
        ['zone', 'show', 'a.test'],
        ['pool', 'show', 'default'],
        ['nameserver', 'show', 'ns1'],
      ])
        expect(await run(...argv, ...names)).toMatchObject({ status: 0, err: '' });
      for (const argv of [
        ['zone', 'show', 'elsewhere.test'],
        ['pool', 'show', 'other'],
        ['nameserver', 'show', 'ns2'],
      ])
        expect((await run(...argv)).err).toMatch(/^tsigil: No \w+ is named '/);
      const key = `of-${limit}`;
      expect(await run('tsigkey', 'create', key, flag, limit, '--wait', ...names)).toEqual({
        status: 0,
        out: `${key}\n`,
        err: '',
      });
      const status = await run('tsigkey', 'status', key);
      expect(status).toMatchObject({ status: 0, out: expect.stringMatching(/ns1\tdelivered/) });
      const verified = await run('tsigkey', 'verify', key, '--transfer', '-f', 'json');
      expect([verified.status, verified.err]).toEqual([0, '']);
      expect(JSON.parse(verified.out)).toMatchObject([{ server: 'ns1', verdict: 'good' }]);
      const outside = await run('tsigkey', 'create', 'outside', '--pool', 'other');
      expect([outside.status, outside.err]).toEqual([1, expect.stringContaining("'other'")]);
      expect(await run('tsigkey', 'delete', key)).toMatchObject({ status: 0 });
      await expect.poll(() => removing(service.token)).toEqual([]);
    },
  );

  test('does not learn the names of keys outside the limits from a name server', async () => {
    const zone = await tokenFor('--zone', 'b.test');
    const pool = await tokenFor('--pool', 'default', '--zone', 'elsewhere.test');
    const { id } = await createKey(service, 'secret-project');
    await service.get(`/v2/tsigkeys/${id}/deliveries?wait=20`);
    const { body } = await service.get('/v2/nameservers?name=ns1');
    const server = `/v2/nameservers/${(body.nameservers as { id: string }[])[0]?.id}`;
    await service.patch(server, { paused: true });
    await service.delete(`/v2/tsigkeys/${id}`);
    expect(await removing(service.token)).toEqual(['secret-project']);
    expect(await removing(zone)).toEqual([]);
    expect(await removing(pool)).toEqual(['secret-project']);
    const shown = (await service.with(zone).get(server)).body;
    expect(shown).toMatchObject({ name: 'ns1', held: null, unknown_keys: [], error: null });
    const check = await service.with(zone).get(`${server}/check`);
    expect([check.status, check.body.type]).toEqual([403, 'outside_limits']);
    await service.patch(server, { paused: false });
  });

  test('sees neither the lines that name keys nor what a failed name server says, but its code', async () => {
    const token = service.with(await tokenFor('--zone', 'b.test'));
    const { id } = await createKey(service, 'referenced');
    await service.get(`/v2/tsigkeys/${id}/deliveries?wait=20`);
    const main = join(bind.folder, brand.main);
    const former = readFileSync(main, 'utf8');
    const line = (name: string) => `server 192.0.2.9 { keys { "${name}"; }; };\n`;
    await editFile(main, (text) => text + line('referenced'));
    const server = `/v2/nameservers/${(await shownServer(service)).id}`;
    await service.post(`${server}/reconcile`, {});
    await expect
      .poll(() => shownServer(service), { timeout: 120_000 })
      .toMatchObject({ key_references: [{ key: 'referenced' }] });
    expect((await token.get(server)).body).toMatchObject({ name: 'ns1', key_references: null });

    await editFile(main, (text) => text + line('hidden').replace('.9', '.8'));
    const own = await createKey(service, 'own', await inZone(service, 'b.test'));
    const path = `/v2/tsigkeys/${own.id}/deliveries`;
    await expect
      .poll(async () => (await service.get(path)).body, { timeout: 120_000 })
      .toMatchObject({ servers: [{ error: { code: 'refused_by_server' } }] });
    const error = String((await shownServer(service)).error);
    expect((await service.get(path)).text).toContain(JSON.stringify(error).slice(1, -1));
    expect((await token.get(path)).body).toMatchObject({
      servers: [
        { error: { code: 'refused_by_server', message: expect.not.stringContaining(error) } },
      ],
    });
    writeFileSync(main, former);
    await service.post(`${server}/reconcile`, {});
    await untilLive(service);
  });
});
