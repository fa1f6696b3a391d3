import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BRANDS } from './harness/brands/brands.ts';

const ROOT = join(import.meta.dirname, '..');

test(
  'the benchmark measures every scenario, and missed targets do not fail it',
  { timeout: 600_000 },
  async () => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [join(ROOT, 'bench/run.mjs'), '--quick'],
      { cwd: ROOT },
    );
    for (const row of [
      'GET one TLD',
      'list of 100 of 100,000: first page',
      'create',
      'memory: idle, empty',
      'list of 100 keys, against no encryption',
      'command line: --version',
      'size:',
    ])
      expect(stdout).toContain(row);
    expect(stdout).toMatch(/\d+ s; \d+ targets missed/);
    expect(stderr).toMatch(/postgres: \d+ s/);
  },
);

test('the benchmark of delivery measures an idle service with every installed name server', () => {
  const servers = BRANDS.map(({ name }) => name).join(',');
  const parameters = ['--brand', 'idle', '--keys', '20', '--settle', '0', '--seconds', '1'];
  // Within a second of its start, the service is not idle, and misses the target.
  const { stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'bench/delivery.mjs'), ...parameters, '--servers', servers],
    { cwd: ROOT, encoding: 'utf8', timeout: 120_000 },
  );
  const namesOf = (isInstalled: boolean) =>
    BRANDS.filter((brand) => brand.isInstalled() === isInstalled)
      .map(({ name }) => name)
      .join(', ');
  const missing = namesOf(false);
  if (missing !== '')
    expect(stdout).toContain(`idle: not installed, so not measured: ${missing}\n`);
  expect(stdout).toContain(`idle: 20 keys, 10 zones, ${namesOf(true)}: `);
  expect(stdout).toMatch(
    /\d+\.\d\d% of a core in 1 s with \d+ passes, .* MB \(target: at most 1%; /,
  );
}, 180_000);
