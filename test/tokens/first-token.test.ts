import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFirstToken } from '../../src/tokens/first-token.ts';
import type { Dependencies } from '../../src/resources/operations/change.ts';
import { dependenciesOn, openStore, SETTINGS } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';

let folder: string;
let dependencies: Dependencies;
beforeEach(async () => {
  folder = temporaryFolder();
  const store = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  dependencies = dependenciesOn(store, {
    settings: { ...SETTINGS, otherAdministrators: false },
    clock: () => '2026-01-01T00:00:00.000000',
  });
});
afterEach(() => dependencies.store.close());

describe('the file of the first administrator token', () => {
  test('has mode 0600 and replaces an earlier file atomically', async () => {
    const file = join(folder, 'new/admin.token');
    mkdirSync(join(folder, 'new'));
    writeFileSync(file, 'old', { mode: 0o644 });
    expect(await createFirstToken(dependencies, file)).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/^tsigil_\S+\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'new'))).toEqual(['admin.token']);
    expect(await createFirstToken(dependencies, file)).toBe(false);
  });

  test('does not replace a folder, and leaves no temporary file and no stored token', async () => {
    const file = join(folder, 'new/admin.token');
    mkdirSync(join(file, 'in-the-way'), { recursive: true });
    await expect(createFirstToken(dependencies, file)).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(readdirSync(join(folder, 'new'))).toEqual(['admin.token']);
    rmSync(file, { recursive: true });
    expect(await createFirstToken(dependencies, file)).toBe(true);
  });
});
