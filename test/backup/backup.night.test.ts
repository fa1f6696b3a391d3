import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { canMount, mountMemory } from '../harness/file-systems.ts';
import { cleanEnvironment, PROGRAM, temporaryFolder } from '../harness/service.ts';
import { queryByAnotherProgram, startForeignProgram } from '../harness/sqlite-programs.ts';

const ROWS = 30_000;

let folder: string;
let database: string;
/** The folder for backups. Each test starts with an empty folder. */
let place: string;

beforeAll(async () => {
  folder = temporaryFolder();
  database = join(folder, 'large.db');
  const rows = `WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${ROWS}) SELECT x, hex(randomblob(500)) FROM n`;
  await (
    await startForeignProgram(
      database,
      `PRAGMA synchronous = OFF; CREATE TABLE texts (id INTEGER PRIMARY KEY, text); INSERT INTO texts ${rows}`,
    )
  ).release();
});
beforeEach(() => {
  place = join(folder, 'backups');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
});

interface Ended {
  status: number | null;
  signal: NodeJS.Signals | null;
  err: string;
}

function startBackup(target: string): { process: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [PROGRAM, 'backup', '--to', target], {
    cwd: place,
    env: cleanEnvironment({ TSIGIL_DATABASE_URL: `sqlite:${database}` }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (text) => (err += String(text)));
  const ended = (once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>).then(
    ([status, signal]) => ({ status, signal, err }),
  );
  return { process: child, ended };
}

/**
 * Waits until a backup has written as many bytes to a file that does not have its final name yet,
 * or has given the file its final name.
 */
async function untilItWrites(bytes = 1): Promise<void> {
  for (;;) {
    const [name] = readdirSync(place);
    if (name?.endsWith('.db') === true) return;
    if (name !== undefined) {
      const copy = statSync(join(place, name, 'copy.db'), { throwIfNoEntry: false });
      if (copy !== undefined && copy.size >= bytes) return;
    }
    await new Promise((resume) => setTimeout(resume, 1));
  }
}

function expectComplete(copy: string): void {
  expect(queryByAnotherProgram(copy, 'PRAGMA integrity_check')).toEqual([
    { integrity_check: 'ok' },
  ]);
  expect(queryByAnotherProgram(copy, 'SELECT count(*) AS count FROM texts')).toEqual([
    { count: ROWS },
  ]);
}

describe('tsigil backup', () => {
  test('after kill -9 at ten different parts of the copy, the file is complete or does not exist', async () => {
    expect(await startBackup('whole.db').ended).toEqual({ status: 0, signal: null, err: '' });
    const { size } = statSync(join(place, 'whole.db'));
    expectComplete(join(place, 'whole.db'));
    rmSync(join(place, 'whole.db'));
    for (let part = 1; part <= 10; part += 1) {
      const target = join(place, `${part}.db`);
      const { process: backup, ended } = startBackup(target);
      await Promise.race([untilItWrites((size * part) / 10), ended]);
      backup.kill('SIGKILL');
      await ended;
      for (const name of readdirSync(place))
        if (name !== `${part}.db`) rmSync(join(place, name), { recursive: true });
      if (existsSync(target)) expectComplete(target);
      expect(existsSync(`${target}-journal`)).toBe(false);
    }
  }, 120_000);

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends the command, and the command removes its files',
    async (signal) => {
      const { process: backup, ended } = startBackup('stopped.db');
      await untilItWrites();
      backup.kill(signal);
      expect(await ended).toMatchObject({ status: null, signal });
      expect(readdirSync(place)).toEqual([]);
    },
  );

  test.each(['file:copy.db', 'file:copy.db?mode=memory', "it's.db"])(
    'writes only the file %s, with mode 0600',
    async (name) => {
      expect(await startBackup(name).ended).toEqual({ status: 0, signal: null, err: '' });
      expect(readdirSync(place)).toEqual([name]);
      expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
      expectComplete(join(place, name));
    },
  );

  test('the copy has mode 0600 while it is written', async () => {
    const { ended } = startBackup('copy.db');
    await untilItWrites();
    const [partial = ''] = readdirSync(place);
    expect(statSync(join(place, partial)).mode & 0o777).toBe(0o700);
    expect(statSync(join(place, partial, 'copy.db')).mode & 0o777).toBe(0o600);
    expect((await ended).status).toBe(0);
  });

  test.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))(
    'exits with 1 and removes its files if the disk is full',
    async () => {
      const disk = mountMemory(place, '1m');
      const { status, err } = await startBackup('memory/copy.db').ended;
      expect([status, readdirSync(disk?.folder ?? '')]).toEqual([1, []]);
      expect(err).toMatch(/the disk is full/);
      disk?.remove();
    },
  );
});
