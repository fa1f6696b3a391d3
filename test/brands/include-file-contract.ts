import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { rightsOf } from '../../src/brands/brand.ts';
import { BRANDS } from '../../src/brands/brands.ts';
import { DRIVERS } from '../../src/brands/drivers.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { contentOf, ZONES } from '../harness/driven-server.ts';
import { delayLoads } from '../harness/slow-loads.ts';
import { newKey, type Session } from './driver-contract.ts';

const OTHER_ID = 'f3d7a1f0-94b7-4c53-8f4a-8c2d5f6f7c2e';

/** Defines the tests for drivers that write a file. */
export function describeIncludeFile(session: () => Session, recipe: Brand): void {
  const definition = DRIVERS[recipe.driver];
  if (definition === undefined || recipe.include === undefined)
    throw new Error(`There is no driver ${recipe.driver} with a file`);
  const { main, include } = recipe;
  const { file, withoutInclude } = include;
  const rights = rightsOf(BRANDS[recipe.driver]);
  const soon = () => AbortSignal.timeout(60_000);
  const pathOf = () => join(session().server.folder, file);
  const create = (more: object = {}, id?: string) =>
    definition.create(
      { ...recipe.options(session().server), ...more },
      id ?? '0d6b6b5c-7a30-4c1c-9c1e-3f0f8f0a3f11',
    );
  const applyWith = (driver: ReturnType<typeof create>, ...keys: ReturnType<typeof newKey>[]) =>
    driver.apply({ zones: ZONES, keys }, new Set(keys.map(({ name }) => name)), soon());
  const codeOf = async (work: Promise<unknown>) =>
    work.then(
      () => 'success',
      (error: unknown) => (error as { readonly code?: string }).code,
    );

  test('the file has the mode from the options, and no temporary file remains', async () => {
    const { apply } = session();
    await apply(newKey({ rights }));
    expect(statSync(pathOf()).mode & 0o777).toBe(0o640);
    await applyWith(create({ mode: '0600' }), newKey({ rights }));
    expect(statSync(pathOf()).mode & 0o777).toBe(0o600);
    await apply(newKey({ rights }));
    const folder = dirname(pathOf());
    writeFileSync(join(folder, '.tsigil.conf.tsigil-killed'), 'left by a killed process');
    await apply(newKey({ rights }));
    expect(readdirSync(folder)).toEqual(['tsigil.conf']);
  });

  test.runIf(process.getuid?.() === 0)(
    'the file has the owner and the group from the options',
    async () => {
      await applyWith(create({ owner: 'root', group: 'daemon' }), newKey({ rights }));
      expect(statSync(pathOf()).gid).toBe(1);
      expect(await codeOf(applyWith(create({ group: 'no-such-group' }), newKey({ rights })))).toBe(
        'not_writable',
      );
      await applyWith(create({ group: '0' }), newKey({ rights }));
      expect(statSync(pathOf()).gid).toBe(0);
    },
  );

  test('the driver refuses the file of another name server, and does not change the file', async () => {
    const { apply } = session();
    await apply(newKey({ rights }));
    const before = contentOf(pathOf());
    expect(await codeOf(applyWith(create({}, OTHER_ID), newKey({ rights })))).toBe('foreign_file');
    expect(contentOf(pathOf())).toBe(before);
  });

  test('the driver adopts the file of a deleted name server once the file contains the id that check shows', async () => {
    const { apply, expectKey } = session();
    const former = newKey({ rights });
    await apply(former);
    const before = contentOf(pathOf()) ?? '';
    const other = create({}, OTHER_ID);
    const unmet = (await other.check(soon())).find(({ ok }) => !ok);
    expect([unmet?.problem, unmet?.hint]).toEqual([
      expect.stringContaining('0d6b6b5c-7a30-4c1c-9c1e-3f0f8f0a3f11'),
      expect.stringContaining(OTHER_ID),
    ]);
    writeFileSync(pathOf(), before.replace('0d6b6b5c-7a30-4c1c-9c1e-3f0f8f0a3f11', OTHER_ID));
    const key = newKey({ rights });
    await applyWith(other, key);
    await expectKey(key, true);
    await expectKey(former, false);
    writeFileSync(pathOf(), before);
    await apply(former);
  });

  test('the driver writes a deleted file again', async () => {
    const { driver, apply, expectKey, state } = session();
    const key = newKey({ rights });
    await apply(key);
    rmSync(pathOf());
    const found = await driver.compare(state([key]), new Set([key.name]), soon());
    expect(found.map(({ kind }) => kind)).toEqual(['missing']);
    await apply(key);
    await expectKey(key, true);
  });

  test('if the server refuses the file, the driver restores the former file, and the server starts with it', async () => {
    const { server, apply, expectKey } = session();
    const key = newKey({ rights });
    await apply(key);
    const before = contentOf(pathOf());
    const path = join(server.folder, main);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, `${text}\nthis is no configuration {\n`);
    expect(await codeOf(apply(key, newKey({ rights })))).toBe('refused_by_server');
    expect(contentOf(pathOf())).toBe(before);
    writeFileSync(path, text);
    await server.stop();
    await server.start();
    await expectKey(key, true);
  });

  test('the driver waits for up to a minute until the server has loaded the file', async () => {
    const { server, apply, expectKey } = session();
    const former = newKey({ rights });
    await apply(former);
    const before = contentOf(pathOf());
    const slow = await delayLoads(server, recipe);
    slow.hold();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const driver = create(slow.options);
    const late = codeOf(applyWith(driver, former, newKey({ rights })));
    await slow.loading();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await late).toBe('timeout');
    expect(contentOf(pathOf())).toBe(before);
    const key = newKey({ rights });
    const loaded = codeOf(applyWith(driver, former, key));
    await slow.loading();
    await vi.advanceTimersByTimeAsync(59_000);
    slow.release();
    expect(await loaded).toBe('success');
    vi.useRealTimers();
    await expectKey(key, true);
  });

  test('the driver and check report a configuration that does not include the file', async () => {
    const { server, driver, apply, expectKey } = session();
    const [key, other] = [newKey({ rights }), newKey({ rights })];
    await apply(key);
    const before = contentOf(pathOf());
    const path = join(server.folder, main);
    const text = readFileSync(path, 'utf8');
    const without = withoutInclude(text);
    expect(without).not.toBe(text);
    writeFileSync(path, without);
    expect(await apply(key, other)).toMatchObject({
      changed: true,
      prepared: expect.stringContaining(`does not include '${pathOf()}'`) as unknown,
    });
    expect(contentOf(pathOf())).not.toBe(before);
    expect(contentOf(pathOf())).toContain(other.secret);
    expect(await apply(key, other)).toMatchObject({ changed: false });
    const unmet = (await driver.check(soon())).filter(({ ok }) => !ok);
    expect(unmet.map(({ requirement }) => requirement)).toEqual([
      expect.stringContaining('has loaded') as string,
    ]);
    writeFileSync(path, text);
    await apply(key, other);
    await expectKey(other, true);
  });

  test('the driver refuses a folder with files of others, and check names a folder of its own', async () => {
    const { server } = session();
    const before = readdirSync(server.folder);
    const shared = create({ file: join(server.folder, 'keys.conf') });
    expect(await codeOf(applyWith(shared, newKey({ rights })))).toBe('foreign_file');
    expect(readdirSync(server.folder)).toEqual(before);
    const [unmet] = (await shared.check(soon())).filter(({ ok }) => !ok);
    expect(unmet?.problem).toContain(`The folder '${server.folder}' is not Tsigil's own`);
    expect(unmet?.hint).toContain(join(server.folder, 'tsigil', 'keys.conf'));
    const another = join(dirname(pathOf()), 'another.conf');
    writeFileSync(another, '# Tsigil writes this file for the name server 1 and overwrites');
    onTestFinished(() => rmSync(another));
    await session().apply(newKey({ rights }));
  });

  test('the driver and check report a missing folder', async () => {
    const lost = create({ file: join(session().server.folder, 'lost', 'tsigil.conf') });
    expect(await codeOf(applyWith(lost, newKey({ rights })))).toBe('not_writable');
    const [unmet] = (await lost.check(soon())).filter(({ ok }) => !ok);
    expect(unmet?.problem).toContain('no such file or folder');
  });
}
