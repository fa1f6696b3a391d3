import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
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

/** Starts the longest files first, so that none of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG_ONLY.some((file) => moduleId.endsWith(file));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

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

/**
 * The files that `npm test` has just run on this commit and that would run alike again: `.ci/run`
 * names a file that lists them.
 */
const { TEST_DONE } = process.env;
const DONE =
  TEST_DONE === undefined ? [] : readFileSync(TEST_DONE, 'utf8').split('\n').filter(Boolean);
const isOnPostgresWhenShort = (file: string) =>
  file.startsWith('test/postgres/') || ON_POSTGRES_WHEN_SHORT.includes(file);

/** Returns whether the command line names a file, as opposed to its folder. */
function isNamed(file: string): boolean {
  return process.argv.some(
    (word) => word.endsWith('.test.ts') && file.endsWith(word.replace(/^.*\/test\//, 'test/')),
  );
}

export default defineConfig({
  plugins: [builtThreads],
  test: {
    // Both databases, and the next run, use a module again that did not change.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/harness/run.ts'],
    setupFiles: ['test/harness/set-up.ts'],
    testTimeout: 150_000,
    hookTimeout: 150_000,
    // A wait for an event ends with the event, however busy the machine is. This limit only ends it
    // before the limit of the test, so that the failure names the event.
    expect: { poll: { timeout: 120_000 } },
    sequence: { sequencer: LongestFirst },
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
            ...DONE,
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
          exclude: IS_LONG ? [...ON_SQLITE_ONLY, ...DONE.filter(isOnPostgresWhenShort)] : LONG_ONLY,
          globalSetup: ['test/harness/postgres-run.ts'],
          env: { TEST_DATABASE: 'postgres' },
          sequence: { groupOrder: 0 },
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
          sequence: { groupOrder: 1 },
        },
      },
      // Reads the output of the service in all other projects, and therefore runs last.
      {
        extends: true,
        test: { name: 'leaks', include: ['test/leaks.test.ts'], sequence: { groupOrder: 2 } },
      },
    ],
  },
});
