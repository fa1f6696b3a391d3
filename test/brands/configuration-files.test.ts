import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfiguration } from '../../src/brands/configuration-files.ts';
import { createIncludeFile } from '../../src/brands/include-file.ts';
import { temporaryFolder } from '../harness/service.ts';

/** Returns a folder with a configuration that includes `path` of this folder. */
function including(path: string): { readonly folder: string; readonly main: string } {
  const folder = temporaryFolder();
  const main = join(folder, 'main.conf');
  writeFileSync(main, `include "${path.startsWith('/') ? path : join(folder, path)}";\n`);
  return { folder, main };
}

describe('the state of configuration files', () => {
  test.each([
    ['a named pipe', (path: string) => execFileSync('mkfifo', [path])],
    ['a link to itself', (path: string) => symlinkSync(path, path)],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
    [
      'a file that is too long',
      (path: string) => {
        writeFileSync(path, '');
        truncateSync(path, 64 * 1024 * 1024);
      },
    ],
  ])('is unknown, at once, with an include of %s', async (_name, make) => {
    const { folder, main } = including('other.conf');
    make(join(folder, 'other.conf'));
    expect(await readConfiguration(main, '/own')).toBeUndefined();
  });

  test('leaves out the named pipes and files that a pattern does not match', async () => {
    const { folder, main } = including('more/*.conf');
    mkdirSync(join(folder, 'more'));
    writeFileSync(join(folder, 'more/a.conf'), '# a\n');
    writeFileSync(join(folder, 'more/a.conf.old'), '# former\n');
    execFileSync('mkfifo', [join(folder, 'more/log')]);
    const lines = (await readConfiguration(main, '/own'))?.state.split('\n') ?? [];
    expect(lines.map((line) => line.split(' ')[0])).toEqual([main, join(folder, 'more/a.conf')]);
  });
});

test('a folder with a named pipe is not one of Tsigil alone, and is refused at once', async () => {
  const folder = temporaryFolder();
  execFileSync('mkfifo', [join(folder, 'log')]);
  const file = createIncludeFile({ file: join(folder, 'keys.conf'), mode: '0640' }, 'id');
  await expect(file.read()).rejects.toThrow("it has 'log'");
});
