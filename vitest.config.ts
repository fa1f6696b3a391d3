import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { IS_LONG } from './test/harness/sizes.ts';
import { hasPostgres } from './test/harness/postgres.ts';

/**
 * The suites that also run on PostgreSQL: `gate` in every run, `night` only at night. Whatever else
 * decides where a suite runs is its name: `npm test` runs `*.test.ts` but `*.night.test.ts`, which
 * `npm run test:night` runs with the other suites that have a long size.
 */
const ON_BOTH_DATABASES = {
  gate: [
    'audit/requests',
    'tlds/bulk',
    'http/entity-tags',
    'http/filters',
    'keys/grants',
    'http/lists',
    'http/members',
    'resources/pools',
    'resources/references',
    'rotation/requests',
    'tokens/tokens',
    'resources/tsigkeys',
    'resources/zone-tlds',
    'resources/zones',
    'delivery/crash',
    'delivery/outbox',
    'delivery/reconciler',
    'delivery/restore',
  ],
  night: [
    'delivery/agent-api',
    'delivery/agent-hold',
    'delivery/agent-lease.night',
    'backup/delivery-copy',
    'delivery/events',
    'delivery/failed-applies',
    'delivery/fair-passes',
    'delivery/kept-secrets',
    'delivery/kill',
    'delivery/last-read',
    'delivery/registration',
    'delivery/removing',
    'rotation/delivery.night',
    'resources/documented-zone-names',
    'http/actions',
    'http/any-request',
    'audit/long-reads.night',
    'http/bodies',
    'tlds/bulk-refusals',
    'tlds/bulk-turns.night',
    'http/collections',
    'console/sign-in.night',
    'console/pages',
    'http/designate-compatibility',
    'secrets/requests',
    'tokens/forged-tokens',
    'http/json-lines',
    'keys/export',
    'tokens/last-administrator',
    'http/metrics',
    'delivery/setup',
    'resources/rights',
    'tokens/limits',
    'tokens/uses',
    'uses/rotation',
    'resources/tsigkey-resources',
    'secrets/unreadable-secrets',
    'resources/warnings',
    'resources/zone-lists',
    'resources/zone-ownership',
    'status/plans',
  ],
};
const pathsOf = (names: readonly string[]) =>
  names.map((name) => {
    const file = `test/${name}.test.ts`;
    if (!existsSync(file)) throw new Error(`ON_BOTH_DATABASES lists ${file}, which does not exist`);
    return file;
  });

const onBoth = pathsOf(ON_BOTH_DATABASES.gate);
const onBothAtNight = pathsOf(ON_BOTH_DATABASES.night);

const LEAKS = 'test/leaks.test.ts';
const isNight = (file: string) => file.endsWith('.night.test.ts');
const isOfPostgres = (file: string) => file.startsWith('test/postgres/');
const isOfLimits = (file: string) => file.startsWith('test/limits/') && isNight(file);

/** The suites of this run, without the one that reads what all others have printed. */
const suites = readdirSync('test', { recursive: true })
  .map((name) => join('test', String(name)))
  .filter((file) => file.endsWith('.test.ts') && file !== LEAKS)
  .filter((file) => (IS_LONG ? isNight(file) || hasLongSize(file) : !isNight(file)));

/** Returns whether a file of test/, or one that it imports, asks for the size of a run. */
function hasLongSize(file: string, seen = new Set<string>()): boolean {
  if (file === 'test/harness/sizes.ts') return true;
  if (seen.has(file) || !file.startsWith('test/')) return false;
  seen.add(file);
  return [...readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g)].some(([, path]) =>
    hasLongSize(join(dirname(file), path ?? ''), seen),
  );
}

/**
 * Threads can run only JavaScript. Threads of the tests therefore use the program that `npm run
 * build` creates.
 */
const builtThreads: Plugin = {
  name: 'built-threads',
  transform: (code, id) =>
    id.endsWith('/src/sql/sqlite/scans/scan-thread.ts')
      ? code.replace('./scan-worker.js', '../../../../dist/scan-worker.js')
      : undefined,
};

/** The file system in memory, and the space that the databases of a run need. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES = 1024 ** 3;

// In the gate, only the suites about durability wait for the disk.
if (process.env.TEST_DISK === undefined) {
  process.env.TEST_DISK = tmpdir(); // before a second project reads this file
  if (!IS_LONG && hasRoom(MEMORY)) useFolderIn(MEMORY);
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MEMORY_BYTES;
}

/** Keeps the files of this run in `parent`, unless no program can be written and started there. */
function useFolderIn(parent: string): void {
  try {
    const folder = mkdtempSync(join(parent, 'tsigil-'));
    // An interrupted run removes nothing else.
    process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
    chmodSync(folder, 0o755); // PostgreSQL runs as another user
    writeFileSync(join(folder, 'program'), '', { mode: 0o755 });
    accessSync(join(folder, 'program'), constants.X_OK);
    process.env.TMPDIR = folder;
  } catch {
    return;
  }
}

/** Without PostgreSQL, one skipped test stands for the suites that need it. */
const HAS_POSTGRES = hasPostgres();

export default defineConfig({
  plugins: [builtThreads],
  test: {
    // Both databases, and the next run, use a module again that did not change.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/harness/run.ts'],
    setupFiles: ['test/harness/set-up.ts'],
    // A wait for an event ends with the event, however busy the machine is. These limits only end a
    // test that hangs, the shorter one so that its failure names the event, and the longer one after
    // three starts of a program that hangs, so that the failure shows its output.
    testTimeout: 200_000,
    hookTimeout: 200_000,
    expect: { poll: { timeout: 60_000 } },
    allowOnly: false, // `-t` runs a single test, and cannot be left behind
    pool: 'forks',
    isolate: false, // files share no state, and importing the service takes a second for each file
    // Most files wait for services, disks and name servers rather than for the processor.
    maxWorkers: Math.max(4, availableParallelism()),
    projects: [
      {
        extends: true,
        test: {
          name: 'suites',
          include: suites.filter((file) => !isOfPostgres(file) && !isOfLimits(file)),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: HAS_POSTGRES
            ? [
                ...suites.filter((file) => isOfPostgres(file) || onBoth.includes(file)),
                ...(IS_LONG ? onBothAtNight : []),
              ]
            : ['test/postgres/server.test.ts'],
          globalSetup: ['test/harness/postgres-run.ts'],
          env: { TEST_DATABASE: 'postgres' },
          sequence: { groupOrder: 0 },
        },
      },
      // Attacks the service while others use it. No other test runs meanwhile.
      {
        extends: true,
        test: {
          name: 'limits',
          include: suites.filter(isOfLimits),
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      // Reads the output of the service in all other projects, and therefore runs last.
      {
        extends: true,
        test: { name: 'leaks', include: [LEAKS], sequence: { groupOrder: 2 } },
      },
    ],
  },
});
