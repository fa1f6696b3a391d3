import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RIGHTS } from '../../../src/access/rights.ts';
import { comparisonForm } from '../../../src/core/text/dns-name.ts';
import { DRIVERS } from '../../../src/brands/drivers.ts';
import { bind } from '../../harness/brands/bind.ts';
import { ZONES } from '../../harness/driven-server.ts';
import { describeDriver, DRIVER_ID, newKey } from '../driver-contract.ts';
import { describeIncludeFile } from '../include-file-contract.ts';

const soon = () => AbortSignal.timeout(60_000);

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
    const signal = AbortSignal.timeout(60_000);
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

  test('a key with the name of the session key of BIND is not applied; other keys are', async () => {
    const { driver, apply, expectKey, state } = session();
    const key = newKey({ rights: RIGHTS });
    for (const name of ['local-ddns', 'Local-DDNS']) {
      const named = newKey({ rights: RIGHTS, name: comparisonForm(name) });
      const { problems } = await apply(named, key);
      expect(problems).toEqual([
        { id: named.id, code: 'name_taken', message: expect.stringContaining(named.name) },
      ]);
      await expectKey(key, true);
      await expectKey(named, false);
      const owned = new Set([key.name]);
      expect(await driver.compare(state([named, key]), owned, soon())).toEqual([]);
    }
  });

  test('keys whose names share a parent that sorts before all letters are applied', async () => {
    const { driver, apply, expectKey, state } = session();
    const keys = ['x.0', 'y.0', 'z.0'].map((name) => newKey({ rights: RIGHTS, name }));
    expect(await apply(...keys)).toEqual({ changed: true, problems: [] });
    for (const key of keys) await expectKey(key, true);
    const owned = new Set(keys.map(({ name }) => name));
    expect(await driver.compare(state(keys), owned, soon())).toEqual([]);
  });

  test('keys that BIND refuses for a reason that named-checkconf does not see are left out; other keys never fail meanwhile', async () => {
    const { server, driver, apply, expectKey, state } = session();
    const live = newKey({ rights: RIGHTS });
    await apply(live);
    const main = join(server.folder, 'named.conf');
    const text = readFileSync(main, 'utf8');
    const sessionName = 'own-session-key.example';
    writeFileSync(main, text.replace('options {', `options { session-keyname "${sessionName}";`));
    const taken = newKey({ rights: RIGHTS, name: sessionName });
    const others = Array.from({ length: 20 }, () => newKey({ rights: RIGHTS }));
    const all = [...others.slice(0, 13), taken, ...others.slice(13), live];
    const stop = new AbortController();
    const failures: unknown[] = [];
    const watch = (async () => {
      while (!stop.signal.aborted)
        await expectKey(live, true).catch((each: unknown) => failures.push(each));
    })();
    const { changed, problems } = await apply(...all);
    expect([changed, problems.map(({ id, code }) => [id, code])]).toEqual([
      true,
      [[taken.id, 'name_taken']],
    ]);
    for (const key of others) await expectKey(key, true);
    await expectKey(taken, false);
    const owned = new Set(others.map(({ name }) => name));
    expect(await driver.compare(state(all), owned, soon())).toEqual([]);
    // Once the operator has renamed the session key, the driver delivers the key.
    writeFileSync(main, text);
    expect((await driver.compare(state(all), owned, soon())).map(({ key }) => key)).toEqual([
      sessionName,
    ]);
    expect(await apply(...all)).toEqual({ changed: true, problems: [] });
    await expectKey(taken, true);
    stop.abort();
    await watch;
    expect(failures).toEqual([]);
  });

  describeIncludeFile(session, bind);
});
