import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig, type Plugin } from 'vitest/config';
import {
  ATTACKS,
  IS_LONG,
  IS_QUICK,
  LONG_ONLY,
  NOT_QUICK,
  ON_POSTGRES_WHEN_SHORT,
  ON_SQLITE_ONLY,
} from './test/harness/sizes.ts';
import { hasPostgres } from './test/harness/postgres.ts';

/**
 * Threads can run only JavaScript. Threads of the tests therefore use the program that `npm run
 * build` creates.
 */
const builtThreads: Plugin = {
  name: 'built-threads',
  transform: (code, id) =>
    id.endsWith('/src/store/sqlite/scans/scan-thread.ts')
      ? code.replace('./scan-worker.js', '../../../../dist/scan-worker.js')
      : undefined,
};

/** Without PostgreSQL, one skipped test stands for the suites that need it. */
const HAS_POSTGRES = hasPostgres();

/** The file system in memory, and the space that the databases of a quick run need. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES = 1024 ** 3;

/** Whether the tests of this run wait only for the processor, not for the disk. */
const isInMemory = IS_QUICK && hasRoom(MEMORY);
if (isInMemory) process.env.TMPDIR = MEMORY;

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MEMORY_BYTES;
}

/** Returns whether the command line names a file, as opposed to its folder. */
function isNamed(file: string): boolean {
  return process.argv.some(
    (word) => word.endsWith('.test.ts') && file.endsWith(word.replace(/^.*\/test\//, 'test/')),
  );
}

export default defineConfig({
  plugins: [builtThreads],
  test: {
    globalSetup: ['test/harness/run.ts'],
    setupFiles: ['test/harness/set-up.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A wait for an event ends with the event, however busy the machine is. This limit only ends it
    // before the limit of the test, so that the failure names the event.
    expect: { poll: { timeout: 50_000 } },
    pool: 'forks',
    isolate: false, // files share no state, and importing the service takes a second for each file
    // Most files wait for services, disks and name servers rather than for the processor.
    maxWorkers: isInMemory ? availableParallelism() : Math.max(4, availableParallelism()),
    projects: [
      {
        extends: true,
        test: {
          name: 'suites',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/leaks.test.ts',
            ATTACKS,
            'test/postgres/**',
            ...(IS_QUICK ? NOT_QUICK.filter((file) => !isNamed(file)) : []),
            ...(IS_LONG ? [] : LONG_ONLY),
          ],
          sequence: { groupOrder: 0 },
        },
      },
      // Runs the suites of the API and of delivery again, on PostgreSQL.
      {
        extends: true,
        test: {
          name: 'postgres',
          include: HAS_POSTGRES
            ? [
                'test/postgres/**/*.test.ts',
                ...(IS_LONG
                  ? ['http', 'end-to-end', 'delivery'].map((name) => `test/${name}/**/*.test.ts`)
                  : ON_POSTGRES_WHEN_SHORT),
              ]
            : ['test/postgres/server.test.ts'],
          exclude: IS_LONG ? ON_SQLITE_ONLY : LONG_ONLY,
          globalSetup: ['test/harness/postgres-run.ts'],
          env: { TEST_DATABASE: 'postgres' },
          sequence: { groupOrder: 1 },
        },
      },
      // Attacks the service and measures how long other callers wait. No other test runs meanwhile.
      {
        extends: true,
        test: {
          name: 'limits',
          include: IS_LONG && HAS_POSTGRES ? [ATTACKS] : [],
          globalSetup: ['test/harness/postgres-run.ts'],
          maxWorkers: 1,
          testTimeout: 180_000,
          sequence: { groupOrder: 2 },
        },
      },
      // Reads the output of the service in all other projects, and therefore runs last.
      {
        extends: true,
        test: { name: 'leaks', include: ['test/leaks.test.ts'], sequence: { groupOrder: 3 } },
      },
    ],
  },
});
