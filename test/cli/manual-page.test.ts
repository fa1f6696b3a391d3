import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const PAGE = join(import.meta.dirname, '../../docs/tsigil.1');
const SCRIPT = join(import.meta.dirname, '../../scripts/manual-page.mjs');
const folder = temporaryFolder();
let printed: string;
beforeAll(() => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  printed = stdout;
});

test('docs/tsigil.1 is up to date; run `npm run docs` to update it', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(printed);
});

describe.runIf(hasProgram('man', 'man-db'))('man', () => {
  test('renders docs/tsigil.1 without a warning, with commands and examples unchanged', () => {
    const file = join(folder, 'tsigil.1');
    writeFileSync(file, printed);
    const environment = {
      ...process.env,
      MANWIDTH: '200',
      LC_ALL: 'C.UTF-8',
      MANPAGER: 'cat',
      GROFF_NO_SGR: '1',
    };
    const { status, stdout, stderr } = spawnSync(
      'man',
      ['--warnings', '--no-hyphenation', '--no-justification', '-l', file],
      {
        encoding: 'utf8',
        env: environment,
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    // In the output of man, a backspace follows the first of two overstruck characters.
    const text = stdout.replaceAll(/.\x08/gu, '');
    for (const line of ['NAME', 'EXIT STATUS', 'tsigkey delete <tsigkey...>'])
      expect(text.split('\n').map((each) => each.trim())).toContain(line);
    expect(text).toContain("tsigil tld create --name com --description 'Commercial'");
    expect(text).toContain('tsigil tld create --name рф');
  });
});
