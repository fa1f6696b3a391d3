import { mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { findOpenRights } from '../../src/net/probe.ts';
import { knot, knotc, knotDatabase as database } from '../harness/brands/knot.ts';
import { startDrivenServer, ZONES } from '../harness/driven-server.ts';
import { SECRET } from '../harness/samples.ts';
import { describeDriver, newKey } from './driver-contract.ts';

const soon = () => AbortSignal.timeout(60_000);

describeDriver(database, (session) => {
  const key = () => newKey({ rights: ['transfer', 'update'] });

  test('the driver aborts the abandoned transaction of another client', async () => {
    const { server, apply, expectKey } = session();
    knotc(server, 'conf-begin', 'conf-set server.identity abandoned');
    const given = key();
    expect((await apply(given)).changed).toBe(true);
    await expectKey(given, true);
    expect(knotc(server, 'conf-read server')).not.toContain('abandoned');
  });

  test('the driver waits until a short transaction of another client commits', async () => {
    const { server, apply, expectKey } = session();
    knotc(server, 'conf-begin', 'conf-set server.identity committed');
    const given = key();
    const applied = apply(given);
    knotc(server, 'conf-commit');
    await applied;
    await expectKey(given, true);
    expect(knotc(server, 'conf-read server')).toContain('committed');
  });

  test('a transaction whose connection was cut changes nothing, and the next transaction begins at once', async () => {
    const { server, expectKey } = session();
    let sets = 0;
    let isCut = false;
    const path = join(server.folder, 'proxy.sock');
    const proxy = createServer((client) => {
      const target = connect(join(server.folder, 'knot.sock'));
      for (const socket of [client, target]) socket.on('error', () => undefined);
      target.pipe(client);
      client.pipe(target);
      client.on('data', (octets: Buffer) => {
        sets += octets.toString('latin1').split('conf-set').length - 1;
        if (sets < 5 || isCut) return;
        isCut = true;
        client.destroy();
        target.destroy();
      });
    }).listen(path);
    onTestFinished(() => void proxy.close());
    const driver = DRIVERS.knot?.create({ controlSocket: path }, 'id');
    const keys = [key(), key()] as const;
    const apply = () =>
      driver?.apply({ zones: ZONES, keys }, new Set(keys.map(({ name }) => name)), soon());
    await expect(apply()).rejects.toMatchObject({ code: 'unreachable' });
    await expectKey(keys[0], false);
    expect(() => knotc(server, 'conf-begin')).toThrow('too many transactions');
    await apply();
    for (const each of keys) await expectKey(each, true);
  });

  test('a key with the same name, algorithm and secret becomes one of Tsigil, in one transaction', async () => {
    const { server, driver, apply, expectKey, state } = session();
    const given = newKey({ rights: ['transfer'], name: database.foreign, secret: SECRET });
    const other = key();
    const begun: string[] = [];
    const applied = await driver.apply(state([given, other]), new Set(), soon(), (keys) => {
      begun.push(...keys.map(({ name }) => name));
      return Promise.resolve();
    });
    expect(applied).toEqual({ changed: true, problems: [] });
    expect(begun).toEqual([given.name, other.name]);
    await expectKey(given, true);
    await expectKey(other, true);
    const owned = new Set([given.name, other.name]);
    expect(await driver.compare(state([given, other]), owned, soon())).toEqual([]);
    await apply();
    await expectKey(given, false);
    const id = `key[${given.name}.]`;
    const values = [`conf-set ${id}.algorithm hmac-sha256`, `conf-set ${id}.secret ${SECRET}`];
    knotc(server, 'conf-begin', `conf-set ${id}`, ...values, 'conf-commit');
  });

  test('a refused transaction changes nothing and does not stay open', async () => {
    const { apply, expectKey } = session();
    const [used, other] = [key(), key()];
    await apply(used);
    const bad = { ...key(), algorithm: 'hmac-md6' };
    await expect(apply(other, bad)).rejects.toMatchObject({
      code: 'refused_by_server',
      message: expect.stringContaining(
        `Knot DNS refused 'conf-set' for key[${bad.name}.].algorithm: `,
      ) as string,
    });
    await expectKey(used, true);
    await expectKey(other, false);
    await apply(other);
    await expectKey(used, false);
    await expectKey(other, true);
  });

  test('if another program makes a rule accept unsigned requests, the driver repairs the rule', async () => {
    const { server, apply, driver, state } = session();
    await apply();
    knotc(
      server,
      'conf-begin',
      'conf-unset acl[tsigil-transfer].deny',
      'conf-set acl[tsigil-transfer].address 127.0.0.0/8',
      'conf-commit',
    );
    const open = () => findOpenRights({ server: server.address, zone: ZONES[0] });
    expect(await open()).toEqual(['transfer']);
    expect(await driver.compare(state([]), new Set(), soon())).toEqual([
      {
        kind: 'other',
        message: "The rule 'tsigil-transfer' of Knot DNS differs from the desired rule.",
      },
    ]);
    await apply();
    expect(await open()).toEqual([]);
  });

  test('with the option `file`, the driver detects the database and writes no file', async () => {
    const { server, expectKey } = session();
    const file = join(server.folder, 'keys/unused.conf');
    const driver = DRIVERS.knot?.create({ ...database.options(server), file }, 'id');
    const given = key();
    const names = new Set([given.name]);
    await driver?.apply({ zones: ZONES, keys: [given] }, names, soon());
    await expectKey(given, true);
    expect(() => readFileSync(file)).toThrow('ENOENT');
    await driver?.apply({ zones: ZONES, keys: [] }, names, soon());
  });
});

test.runIf(knot.isInstalled())(
  'Knot with a text configuration: without the option `file`, the driver changes nothing',
  async () => {
    const server = await startDrivenServer(knot);
    onTestFinished(() => server.remove());
    mkdirSync(join(server.folder, 'unused'), { recursive: true });
    const driver = DRIVERS.knot?.create(database.options(server), 'id');
    const keys = [newKey({ rights: ['transfer'] })];
    await expect(driver?.apply({ zones: ZONES, keys }, new Set(), soon())).rejects.toMatchObject({
      code: 'not_included',
    });
    expect(await driver?.check(soon())).toMatchObject([
      { ok: false, problem: expect.stringContaining('`file` is not set') as string },
    ]);
    expect(knotc(server, 'conf-read key')).not.toContain(keys[0]?.name);
  },
);
