import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { bind } from '../harness/brands/bind.ts';
import { ZONES } from '../harness/driven-server.ts';
import { describeDriver, DRIVER_ID, newKey } from './driver-contract.ts';
import { describeIncludeFile } from './include-file-contract.ts';

describeDriver(bind, (session) => {
  test('a refusal contains the reason that named-checkconf prints, but no text of the file', async () => {
    const { server, apply } = session();
    const main = join(server.folder, 'named.conf');
    const text = readFileSync(main, 'utf8');
    const messageWith = async (more: string) => {
      writeFileSync(main, `${text}\n${more}\n`);
      const refused = await apply(newKey({ rights: ['transfer'] })).catch(
        (error: unknown) => error,
      );
      writeFileSync(main, text);
      return refused instanceof Error ? refused.message : '';
    };
    const unknownList =
      'zone "x.test" { type primary; file "x"; allow-transfer { no-such-list; }; };';
    expect(await messageWith(unknownList)).toMatch(
      /^BIND refused the new configuration: .*named\.conf:\d+: undefined ACL 'no-such-list'\.$/,
    );
    expect(await messageWith('key x { algorithm hmac-sha256; secret "a" QUOTED; };')).toMatch(
      /named\.conf:\d+: [^Q]*\.$/,
    );
    await apply(newKey({ rights: ['transfer'] }));
  });

  test('lists for all zones come first, then lists with keys, and the driver never removes a list', async () => {
    const { server, driver, apply } = session();
    const lists = () =>
      [
        ...readFileSync(join(server.folder, 'keys', 'tsigil.conf'), 'utf8').matchAll(
          /^acl "(.*)" \{ (none)?/gm,
        ),
      ].map(([, name = '', none = 'keys']) => `${name} ${none}`);
    const key = newKey({ rights: ['transfer'], zones: ['b.test'] });
    const former = { zones: [...ZONES, 'former.test'], keys: [newKey({ rights: ['transfer'] })] };
    const signal = AbortSignal.timeout(10_000);
    await driver.apply(former, new Set(), signal);
    expect(lists().slice(0, 2)).toEqual(['tsigil-transfer keys', 'tsigil-update none']);
    await apply(key);
    const expected = [
      ...['tsigil-transfer none', 'tsigil-update none', 'tsigil-transfer-b.test keys'],
      ...['tsigil-transfer-a.test none', 'tsigil-update-a.test none', 'tsigil-update-b.test none'],
      ...['tsigil-transfer-former.test none', 'tsigil-update-former.test none'],
    ];
    expect(lists()).toEqual(expected);
    expect((await apply(key)).changed).toBe(false);
    await apply();
    expect(new Set(lists())).toEqual(new Set(expected.map((list) => list.replace('keys', 'none'))));
  });

  test('zoneLists sets which lists a new zone without keys gets, and the driver never removes a list', async () => {
    const { server } = session();
    const file = join(server.folder, 'keys', 'tsigil.conf');
    const lists = () =>
      [...readFileSync(file, 'utf8').matchAll(/^acl "(tsigil-.*)" \{ (none)?/gm)].map(
        ([, name = '', none = 'keys']) => `${name} ${none}`,
      );
    const driverWith = (zoneLists: string) => {
      const options = { ...(bind.options(server) as object), zoneLists };
      return DRIVERS.bind?.create(options, DRIVER_ID);
    };
    const signal = AbortSignal.timeout(10_000);
    const former = lists().length;
    const [few, transfer] = [driverWith('keys'), driverWith('transfer')];
    const zones = [...ZONES, 'new.test'];
    const key = newKey({ rights: ['transfer'], zones: ['new.test'] });
    const owned = new Set([key.name]);
    await few?.apply({ zones, keys: [] }, owned, signal);
    expect(lists()).toHaveLength(former);
    await few?.apply({ zones, keys: [key] }, owned, signal);
    expect(lists()).toHaveLength(former + 1);
    expect(lists()[2]).toBe('tsigil-transfer-new.test keys');
    await few?.apply({ zones, keys: [] }, owned, signal);
    expect(lists()).toContain('tsigil-transfer-new.test none');
    expect(await few?.compare({ zones, keys: [] }, owned, signal)).toEqual([]);
    await transfer?.apply({ zones: [...zones, 'other.test'], keys: [] }, owned, signal);
    expect(lists()).toHaveLength(former + 2);
    expect(lists()).toContain('tsigil-transfer-other.test none');
  });

  describeIncludeFile(session, bind);
});
