import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { knot } from '../harness/brands/knot.ts';
import { startDrivenServer, ZONES } from '../harness/driven-server.ts';
import { run } from '../harness/tools.ts';
import { describeDriver, DRIVER_ID, newKey } from './driver-contract.ts';
import { describeIncludeFile } from './include-file-contract.ts';

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
