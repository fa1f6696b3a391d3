import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createIncludeFile } from '../../src/brands/include-file.ts';
import { temporaryFolder } from '../harness/service.ts';

test('each edit of the file is read, even if its size and its time of modification stay the same', async () => {
  const path = join(temporaryFolder(), 'keys.conf');
  const file = createIncludeFile({ file: path, mode: '0600' }, 'id');
  // A file that has not changed for some seconds is read again only if its status differs.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  await file.replace('# one\n');
  for (const content of ['# two\n', '# six\n', '# ten\n']) {
    const { mtime, ctimeMs } = statSync(path);
    await file.read();
    do {
      writeFileSync(path, content);
      utimesSync(path, mtime, mtime);
    } while (statSync(path).ctimeMs === ctimeMs); // the clock of the file system has ticks
    expect(await file.read()).toBe(content);
    expect(await file.read()).toBe(content);
  }
  await file.replace('# end\n');
  expect(await file.read()).toBe('# end\n');
  await file.replace(undefined);
  expect(await file.read()).toBeUndefined();
});
