import { linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { serveInVain, startServiceProcess, temporaryFolder } from '../harness/service.ts';
import {
  queryByAnotherProgram,
  startForeignProgram,
  startOpener,
} from '../harness/sqlite-programs.ts';

let folder: string;
let database: string;

beforeEach(() => {
  folder = temporaryFolder();
  database = join(folder, 'tsigil.db');
});

const variables = (path: string) => ({ TSIGIL_DATABASE_URL: `sqlite:${path}` });
const start = (path = database) => startServiceProcess(folder, variables(path));

const refusal = (path: string) =>
  `tsigil: Another program has the database '${path}' open, perhaps under another name. End that service, backup or SQLite shell, then start this service again`;

test('a second service on the same database exits with 1 under every name, and the first continues; kill -9 releases the lock', async () => {
  const first = await start();
  const [symbolic, hard] = [join(folder, 'symbolic.db'), join(folder, 'hard.db')];
  symlinkSync(database, symbolic);
  linkSync(database, hard);
  const expectRefused = (path: string, message: string) => {
    const { status, stdout, stderr } = serveInVain(folder, variables(path));
    expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(message)]);
  };
  for (const path of [database, symbolic])
    expectRefused(path, `tsigil: Another process is using the database '${database}'. Stop `);
  expectRefused(hard, refusal(hard));
  rmSync(`${database}-lock`);
  expectRefused(database, refusal(database));
  expect((await first.post('/v2/tlds', { name: 'com' })).status).toBe(201);
  expect(queryByAnotherProgram(database, 'SELECT name FROM tlds')).toEqual([{ name: 'com' }]);
  await first.stop('SIGKILL');
  expect(await (await start()).stop('SIGTERM')).toBe(0);
});

describe('a service that starts while another program has the database open', () => {
  test('exits with 1 and a one-line message if the other program does not close the database in time', async () => {
    expect(await (await start()).stop('SIGTERM')).toBe(0);
    const reader = await startForeignProgram(database, 'BEGIN; SELECT * FROM tlds');
    const { status, stdout, stderr } = serveInVain(folder, variables(database));
    expect(stderr).toBe(`${refusal(database)} (database is locked)\n`);
    expect([status, stdout]).toEqual([1, '']);
    await reader.release();
    expect((await (await start()).get('/readyz')).status).toBe(200);
  });
});

describe('processes that open one database at the same time', () => {
  const ROUNDS = 2;
  const AT_ONCE = 5;

  /**
   * Opens a database by each of `names` at the same time, in separate processes. Returns the
   * outcome for each name.
   */
  async function race(names: readonly string[]): Promise<string[]> {
    const openers = await Promise.all(names.map(() => startOpener()));
    const outcomes = await Promise.all(
      openers.map((opener, index) => opener.open(names[index] ?? '')),
    );
    await Promise.all(openers.map((opener) => opener.close()));
    return outcomes;
  }

  test.each([
    ['a new file', ''],
    [
      'a database that was closed',
      'PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)',
    ],
  ])(
    `exactly one of two processes with different hard links succeeds, in ${ROUNDS * AT_ONCE} rounds with %s`,
    async (_what, statements) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const races = Array.from({ length: AT_ONCE }, async (_, number) => {
          const place = join(folder, `${round}-${number}`);
          mkdirSync(place);
          const names = [join(place, 'one.db'), join(place, 'two.db')];
          await (
            await startForeignProgram(names[0] ?? '', `PRAGMA user_version; ${statements}`)
          ).release();
          linkSync(names[0] ?? '', names[1] ?? '');
          return race(names);
        });
        for (const outcomes of await Promise.all(races)) {
          expect(outcomes.filter((outcome) => outcome === 'open')).toHaveLength(1);
          expect(outcomes.find((outcome) => outcome !== 'open')).toMatch(
            /^Another (?:process is using|program has) the database/,
          );
        }
      }
    },
  );
});
