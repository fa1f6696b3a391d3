import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DesiredKey } from '../../../src/brands/desired-state.ts';
import { DriverError } from '../../../src/brands/driver.ts';
import { DRIVERS } from '../../../src/brands/drivers.ts';
import { verifyByQueries } from '../../../src/delivery/reconciler/verification.ts';
import type { Brand } from '../../harness/brands/brand.ts';
import { knot } from '../../harness/brands/knot.ts';
import { startDrivenServer, ZONES } from '../../harness/driven-server.ts';
import { run } from '../../harness/tools.ts';
import { describeDriver, DRIVER_ID, newKey } from '../driver-contract.ts';
import { describeIncludeFile } from '../include-file-contract.ts';

describeDriver(knot, (session) => {
  describeIncludeFile(session, knot);

  test('a refusal names the file and the line of the fault, but not the value there', async () => {
    const { server, apply } = session();
    const file = join(server.folder, 'knot.conf');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/secret: .*/, 'secret: "not!base64!at!all"'));
    const line = text.split('\n').findIndex((each) => each.includes('secret:')) + 1;
    await expect(apply(newKey({ rights: ['transfer'] }))).rejects.toThrow(
      `Knot DNS refused the new configuration: file '${file}', line ${line}, item 'secret' (invalid base64`,
    );
    writeFileSync(file, text);
    await apply();
  });

  test('a key that no zone admits is not admitted if the server has loaded it with its secret, and fails if not', async () => {
    const { server, driver, apply } = session();
    const file = join(server.folder, 'knot.conf');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/^ +acl: .*\n/gm, ''));
    const key = newKey({ rights: ['transfer', 'update'] });
    await apply(key);
    const signal = AbortSignal.timeout(60_000);
    const { port } = server.address;
    const target = { name: 'ns1', driver: 'knot', address: `127.0.0.1:${port}`, probe_zone: null };
    const codeOf = async (
      tested: DesiredKey,
      loadedKeys = driver.loadedKeys?.bind(driver, signal),
    ) => {
      const plan = { acceptedKeys: [tested], removedKeys: [], loadedKeys };
      const go = () => Promise.resolve(false);
      const { failures } = await verifyByQueries(target, ZONES, plan, signal, go);
      return failures.get(tested.id)?.code;
    };
    const { secret } = newKey({ rights: [] });
    const down = () => Promise.reject(new DriverError('unreachable', 'Nothing listens.'));
    expect(await codeOf(key)).toBe('not_admitted');
    expect(await codeOf({ ...key, secret })).toBe('not_verified');
    expect(await codeOf(newKey({ rights: ['transfer'] }))).toBe('not_verified');
    expect(await codeOf(key, down)).toBe('not_verified');
    writeFileSync(file, text);
    await apply();
  });

  test('fails on a server with a configuration database, and says how to leave it', async () => {
    const server = await startDrivenServer(inDatabase);
    const file = join(server.folder, 'keys/tsigil.conf');
    const before = readFileSync(file, 'utf8');
    const driver = DRIVERS.knot?.create(knot.options(server), DRIVER_ID);
    const state = { zones: ZONES, keys: [newKey({ rights: ['transfer'] })] };
    const signal = AbortSignal.timeout(60_000);
    await expect(driver?.apply(state, new Set(), signal)).rejects.toMatchObject({
      code: 'not_included',
      message: expect.stringContaining('configuration database') as string,
    });
    expect(await driver?.check(signal)).toContainEqual(
      expect.objectContaining({
        ok: false,
        hint: expect.stringContaining('knotc conf-export') as string,
      }),
    );
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

/** Knot DNS with the same configuration in a configuration database. */
const inDatabase: Brand = {
  ...knot,
  name: 'Knot with a database',
  configure(folder, port, ...more) {
    knot.configure(folder, port, ...more);
    run(folder, 'knotc', '-C', join(folder, 'confdb'), 'conf-import', join(folder, 'knot.conf'));
  },
  command: (folder) => ['knotd', '-C', join(folder, 'confdb')],
};
