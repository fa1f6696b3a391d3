import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

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
      ...['GET one TLD', 'list of 100 of 100,000: first page', 'create', 'memory: idle, empty'],
      ...['list of 1000 keys, against no encryption', 'command line: --version', 'size:'],
    ])
      expect(stdout).toContain(row);
    expect(stdout).toMatch(/\d+ s; \d+ targets missed/);
    expect(stderr).toMatch(/postgres: \d+ s/);
  },
);
