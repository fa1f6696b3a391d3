import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
} from '../harness/service.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'tsigil.db');
});

function serve(database: string) {
  const env = cleanEnvironment({
    TSIGIL_LISTEN: '127.0.0.1:0',
    TSIGIL_DATABASE_URL: `sqlite:${database}`,
  });
  return spawnSync(process.execPath, [PROGRAM, 'serve'], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 20_000,
  });
}

test('a second process exits with a one-line message, even through a symbolic link; kill -9 releases the lock', async () => {
  const settings = { TSIGIL_DATABASE_URL: `sqlite:${path}` };
  const first = await startServiceProcess(folder, settings);
  const link = join(folder, 'link.db');
  symlinkSync(path, link);
  for (const name of [path, link]) {
    const second = serve(name);
    expect(second.stderr).toBe(
      `tsigil: Another process is using the database '${path}'. Stop that process, or use a different database.\n`,
    );
    expect([second.status, second.stdout]).toEqual([1, '']);
  }
  expect((await first.get('/readyz')).status).toBe(200);
  await first.stop('SIGKILL');
  const third = await startServiceProcess(folder, settings);
  expect(await third.stop('SIGTERM')).toBe(0);
});

test('a second attempt to open the database in the same process fails and does not release the lock', async () => {
  const observer = { committed: () => undefined };
  const database = await openSqlite(path, observer);
  await expect(openSqlite(path, observer)).rejects.toMatchObject({ code: 'unavailable' });
  expect(serve(path).stderr).toMatch(/Another process is using the database/);
  await database.close();
});
