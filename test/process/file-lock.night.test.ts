import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import { serveInVain, startServiceProcess, temporaryFolder } from '../harness/service.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'tsigil.db');
});

const serve = (database: string) =>
  serveInVain(folder, { TSIGIL_DATABASE_URL: `sqlite:${database}` });

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
