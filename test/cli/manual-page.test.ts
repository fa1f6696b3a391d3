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
  test('renders docs/tsigil.1 without a warning, with every command, flag and example unchanged', () => {
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
    for (const section of [
      'NAME',
      'SYNOPSIS',
      'COMMANDS',
      'EXIT STATUS',
      'ENVIRONMENT',
      'FILES',
      'EXAMPLES',
    ])
      expect(text).toMatch(new RegExp(`^${section}$`, 'm'));
    for (const command of [
      'serve',
      'token revoke <token...>',
      'tld create [name]',
      'tsigkey delete <tsigkey...>',
      'zone create <name>',
      'pool set <pool>',
      'completion <shell>',
    ]) {
      expect(text.split('\n').map((line) => line.trim())).toContain(command);
    }
    for (const flag of [
      '--secret-file <file>',
      '--no-description',
      '--token-file <file>',
      '--sort <key>',
      '-f, --format <format>',
    ])
      expect(text).toContain(flag);
    expect(text).toContain("tsigil tld create --name com --description 'Commercial'");
    expect(text).toContain('tsigil tld create --name рф');
    expect(text).toContain("tsigil zone list --name '*.com.' --sort ttl:desc");
    expect(text).toContain('/etc/tsigil/tsigil.yaml');
  });
});
