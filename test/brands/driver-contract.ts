import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rightsOf } from '../../src/brands/brand.ts';
import { BRANDS } from '../../src/brands/brands.ts';
import {
  rightsIn,
  type Access,
  type DesiredKey,
  type DesiredState,
  type Zones,
} from '../../src/brands/desired-state.ts';
import type { Right } from '../../src/access/rights.ts';
import type { Difference, Driver } from '../../src/brands/driver.ts';
import { DRIVERS } from '../../src/brands/drivers.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { grantedToAnyone, hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { recordSecret } from '../harness/evidence.ts';
import { sized } from '../harness/sizes.ts';

/** A running server with its driver, for all tests of the driver. */
export interface Session {
  readonly server: DrivenServer;
  readonly driver: Driver;
  readonly state: (keys: readonly DesiredKey[]) => DesiredState;
  readonly apply: (...keys: readonly DesiredKey[]) => ReturnType<Driver['apply']>;
  /** Expects that the server accepts or refuses each right of a key. */
  readonly expectKey: (key: DesiredKey, accepted: boolean, zone?: string) => Promise<void>;
}

/** The id of the name server that the driver manages. */
export const DRIVER_ID = '0d6b6b5c-7a30-4c1c-9c1e-3f0f8f0a3f11';

/** Returns a new key with a random name and secret. */
export function newKey({
  rights,
  zones = 'all',
  ...given
}: Partial<DesiredKey> & {
  readonly rights: readonly Right[];
  readonly zones?: Zones;
}): DesiredKey {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  return {
    id: randomUUID(),
    name: `k-${randomBytes(6).toString('hex')}.example`,
    algorithm: 'hmac-sha256',
    secret,
    version: 1,
    access: accessTo(rights, zones),
    ...given,
  };
}

/** Returns the access of a key with these rights in these zones. */
function accessTo(rights: readonly Right[], zones: Zones = 'all'): Access {
  return Object.fromEntries(rights.map((right) => [right, zones]));
}

function later(seconds = 60): AbortSignal {
  return AbortSignal.timeout(seconds * 1000);
}

/** Returns the code and the message of the error that `work` throws. Throws if `work` succeeds. */
async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work;
  } catch (error) {
    const { code = 'none', message } = error as { code?: string; message: string };
    return { code, message };
  }
  throw new Error('It did not fail');
}

/**
 * Defines the tests that every driver must pass with a real server, followed by the tests in
 * `more`.
 */
export function describeDriver(recipe: Brand, more?: (session: () => Session) => void): void {
  const isRun = [recipe.isInstalled(), hasDnsTools()].every(Boolean);
  describe.runIf(isRun)(`the driver for ${recipe.name}`, () => {
    const definition = DRIVERS[recipe.driver];
    if (definition === undefined) throw new Error(`There is no driver ${recipe.driver}`);
    const rights = rightsOf(BRANDS[recipe.driver]);
    let current: Session | undefined;
    const session = () => {
      if (current === undefined) throw new Error('The server has not started');
      return current;
    };
    const owned = new Set<string>();

    beforeAll(async () => {
      const server = await startDrivenServer(recipe);
      const driver = definition.create(recipe.options(server), DRIVER_ID);
      const state = (keys: readonly DesiredKey[]) => ({ zones: ZONES, keys });
      current = {
        server,
        driver,
        state,
        apply(...keys) {
          for (const { name } of keys) if (name !== recipe.foreign) owned.add(name);
          return driver.apply(state(keys), owned, later(120));
        },
        async expectKey(key, accepted, zone = ZONES[0]) {
          // Some name servers reload their configuration after the driver has returned.
          for (const right of rightsIn(key.access))
            await expect
              .poll(() => isGranted(server.address, zone, right, key), { message: right })
              .toBe(accepted);
        },
      };
    });
    afterAll(() => current?.server.remove());

    const expectClosed = async (on = session().server) =>
      expect(await grantedToAnyone(on.address, ZONES)).toEqual([]);

    test('the server accepts an applied key for all zones, and refuses a removed key', async () => {
      const { apply, expectKey } = session();
      const key = newKey({ rights });
      expect(await apply(key)).toEqual({ changed: true, problems: [] });
      for (const zone of ZONES) await expectKey(key, true, zone);
      expect(await apply(key)).toEqual({ changed: false, problems: [] });
      await apply();
      for (const zone of ZONES) await expectKey(key, false, zone);
      await expectClosed();
    });

    test('the server accepts a key for one zone in this zone only', async () => {
      const { apply, expectKey } = session();
      const [first, second] = [
        newKey({ rights, zones: ['a.test'] }),
        newKey({ rights, zones: ['b.test'] }),
      ];
      const shared = newKey({ rights });
      await apply(first, second, shared);
      await expectKey(first, true, 'a.test');
      await expectKey(first, false, 'b.test');
      await expectKey(second, true, 'b.test');
      await expectKey(second, false, 'a.test');
      await expectKey(shared, true, 'a.test');
      await expectKey(shared, true, 'b.test');
      await apply({ ...first, access: accessTo(rights, ['b.test']) }, second);
      await expectKey(first, true, 'b.test');
      await expectKey(first, false, 'a.test');
      await apply(second);
      await expectKey(first, false, 'b.test');
      await expectKey(second, true, 'b.test');
      await apply();
      await expectClosed();
    });

    test.runIf(rights.length > 1)('the server accepts only the rights of a key', async () => {
      const { apply, expectKey } = session();
      const key = newKey({ rights: ['transfer'] });
      await apply(key);
      await expectKey(key, true);
      await expectKey({ ...key, access: accessTo(['update']) }, false);
      await apply({ ...key, access: accessTo(['update']) });
      await expectKey(key, false);
      await expectKey({ ...key, access: accessTo(['update']) }, true);
      await apply();
      await expectClosed();
    });

    test('the server accepts a key with any algorithm', async () => {
      const { apply, expectKey } = session();
      const keys = ['hmac-md5', 'hmac-sha1', 'hmac-sha224', 'hmac-sha384', 'hmac-sha512'].map(
        (algorithm) => newKey({ rights, algorithm }),
      );
      await apply(...keys);
      for (const key of keys) await expectKey(key, true);
    });

    test('while a secret changes, the server always accepts the former or the new secret', async () => {
      const { server, apply, expectKey } = session();
      const key = newKey({ rights });
      await apply(key);
      await expectKey(key, true);
      const changed = { ...key, secret: newKey({ rights }).secret, version: 2 };
      const watching = new AbortController();
      const gaps: string[] = [];
      const watch = (async () => {
        while (!watching.signal.aborted) {
          const granted: unknown[] = [];
          // The former key is tried twice, because the server can switch between two requests.
          for (const each of [key, changed, key])
            granted.push(await isGranted(server.address, ZONES[0], 'transfer', each));
          if (granted.every((each) => each === false)) gaps.push(granted.join(', '));
        }
      })();
      await apply(changed);
      await expectKey(changed, true);
      watching.abort();
      await watch;
      expect(gaps).toEqual([]);
      await expectKey(key, false);
      const other = { ...changed, algorithm: 'hmac-sha512', version: 3 };
      await apply(other);
      await expectKey(other, true);
    });

    test('a key with the name of a key that the driver does not manage is not applied; other keys are', async () => {
      const { driver, apply, expectKey, state } = session();
      const [key, taken] = [newKey({ rights }), newKey({ rights, name: recipe.foreign })];
      const { problems } = await apply(key, taken);
      expect(problems).toEqual([
        {
          id: taken.id,
          code: 'name_taken',
          message: expect.stringContaining(taken.name) as string,
        },
      ]);
      await expectKey(key, true);
      await expectKey(taken, false);
      // A name that another key has is no change by another program.
      expect(await driver.compare(state([key, taken]), owned, later())).toEqual([]);
      // The driver has not changed the key in the server's configuration.
      await driver.apply({ zones: ZONES, keys: [key] }, owned, later());
      await expectClosed();
      await expectKey(key, true);
    });

    test('apply reports the keys before it changes anything, and reports no keys for a stopped server', async () => {
      const { driver, apply, expectKey, server, state } = session();
      const [key, taken] = [newKey({ rights }), newKey({ rights, name: recipe.foreign })];
      await apply();
      const reported: string[] = [];
      const intend = async (keys: readonly DesiredKey[]) => {
        reported.push(...keys.map(({ name }) => name));
        await expectKey(key, false);
      };
      const begin = () => driver.apply(state([key, taken]), owned, later(), intend);
      await server.stop();
      await failureOf(begin());
      expect(reported).toEqual([]);
      await server.start();
      await begin();
      expect(reported).toContain(key.name);
      // BIND refuses the name only when it reads the file.
      if (recipe.name !== 'BIND') expect(reported).not.toContain(taken.name);
      await expectKey(key, true);
      owned.add(key.name);
      await apply();
    });

    test('a key in `kept` stays unchanged on the server, and is not created if the server lacks it', async () => {
      const { driver, apply, expectKey } = session();
      const [kept, other, lacking] = [
        newKey({ rights }),
        newKey({ rights, zones: ['b.test'] }),
        newKey({ rights }),
      ];
      await apply(kept);
      const state = {
        zones: ZONES,
        keys: [other],
        kept: [kept, lacking].map(({ id, name, access }) => ({
          id,
          name,
          access,
          version: 2,
        })),
      };
      for (const { name } of [other, lacking]) owned.add(name);
      expect(await driver.apply(state, owned, later())).toEqual({ changed: true, problems: [] });
      await expectKey(kept, true);
      await expectKey(other, true, 'b.test');
      await expectKey(lacking, false);
      expect(await driver.compare(state, owned, later())).toEqual([]);
      expect((await driver.apply(state, owned, later())).changed).toBe(false);
      await apply();
      await expectKey(kept, false);
      await expectClosed();
    });

    test('compare finds changes by other programs, and apply repairs them', async () => {
      const { server, driver, apply, state, expectKey } = session();
      const keys = [newKey({ rights }), newKey({ rights }), newKey({ rights })] as const;
      const [removed, changed, kept] = keys;
      await apply(...keys);
      expect(await driver.compare(state(keys), owned, later())).toEqual([]);
      const without = await driver.compare(state([removed, changed]), owned, later());
      expect(ofKeys(without)).toEqual([['extra', kept.name]]);
      await recipe.edit(server, removed.name, changed.name);
      const found = await driver.compare(state(keys), owned, later());
      expect(ofKeys(found)).toEqual([
        ['missing', removed.name],
        ['changed', changed.name],
      ]);
      expect((await apply(...keys)).changed).toBe(true);
      expect(await driver.compare(state(keys), owned, later())).toEqual([]);
      for (const key of keys) await expectKey(key, true);
    });

    test('a restarted server has the keys, and refuses unsigned requests after the last key is removed', async () => {
      const { server, apply, expectKey } = session();
      const [key, local] = [newKey({ rights }), newKey({ rights, zones: ['b.test'] })];
      await apply(key, local);
      await server.stop();
      await server.start();
      await expectKey(key, true);
      await expectKey(local, true, 'b.test');
      await expectClosed();
      await apply();
      await expectKey(key, false);
      await expectClosed();
      await server.stop();
      await server.start();
      await expectClosed();
    });

    test('a new driver finds the keys that an earlier driver applied, and removes them', async () => {
      const { server, apply, expectKey, state } = session();
      const [first, second] = [newKey({ rights }), newKey({ rights })];
      await apply(first);
      const successor = definition.create(recipe.options(server), DRIVER_ID);
      expect(await successor.compare(state([first]), owned, later())).toEqual([]);
      owned.add(second.name);
      await successor.apply({ zones: ZONES, keys: [second] }, owned, later());
      await expectKey(first, false);
      await expectKey(second, true);
    });

    test('a stopped server causes the error unreachable, and gets the keys after its start', async () => {
      const { server, apply, expectKey } = session();
      const [first, second] = [newKey({ rights }), newKey({ rights })];
      await apply(first);
      await server.stop();
      const { code, message } = await failureOf(apply(first, second));
      expect(code).toBe('unreachable');
      expect(message).not.toContain(first.secret);
      await server.start();
      await expectKey(first, true);
      await apply(first, second);
      await expectKey(second, true);
    });

    test('a suspended server causes the error timeout, and gets the keys when it continues', async () => {
      const { server, driver, apply, expectKey } = session();
      const [first, second] = [newKey({ rights }), newKey({ rights })];
      await apply(first);
      owned.add(second.name);
      server.signal('SIGSTOP');
      const keys = [first, second];
      const failure = await failureOf(driver.apply({ zones: ZONES, keys }, owned, later(0.7)));
      expect(failure.code).toBe('timeout');
      server.signal('SIGCONT');
      await apply(...keys);
      for (const key of keys) await expectKey(key, true);
    });

    test.runIf(recipe.wrongKey !== undefined)(
      'a wrong control key causes the error not_permitted, and nothing changes',
      async () => {
        const { server, apply, expectKey } = session();
        const [first, second] = [newKey({ rights }), newKey({ rights })];
        await apply(first);
        const stranger = definition.create(recipe.wrongKey?.(server), DRIVER_ID);
        const state = { zones: ZONES, keys: [first, second] };
        const { code, message } = await failureOf(stranger.apply(state, owned, later()));
        expect({ code, message }).toMatchObject({ code: 'not_permitted' });
        const requirements = await stranger.check(later());
        expect(requirements.filter(({ ok }) => !ok)).toHaveLength(1);
        await expectKey(first, true);
        await expectKey(second, false);
      },
    );

    test('check reports that all requirements are met', async () => {
      const { driver, apply } = session();
      await apply(newKey({ rights }));
      const requirements = await driver.check(later());
      expect(requirements.length).toBeGreaterThan(1);
      expect(requirements.filter(({ ok }) => !ok)).toEqual([]);
    });

    const many = sized(100, 1000);
    test(`${many} keys work after one apply, and the server prints no secret`, async () => {
      const { server, driver, apply, expectKey, state } = session();
      const keys = Array.from({ length: many }, () => newKey({ rights }));
      await apply(...keys);
      for (const index of [0, many / 2, many - 1])
        await expectKey(keys[index] ?? newKey({ rights }), true);
      expect(await driver.compare(state(keys), owned, later())).toEqual([]);
      await apply();
      for (const key of keys) expect(server.output().includes(key.secret)).toBe(false);
    });

    more?.(session);
  });
}

/** Returns the differences in single keys. Drivers may also report differences in zones. */
function ofKeys(differences: readonly Difference[]) {
  return differences
    .filter(({ kind }) => kind !== 'other')
    .map(({ kind, key }) => [kind, key ?? '']);
}
