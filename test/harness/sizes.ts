/**
 * Tests that could run for any length of time have two sizes. `npm test` uses the short sizes.
 * `.ci/run` sets TEST_LONG=1 and uses the long sizes. A short test checks the same guarantee with
 * fewer attempts.
 */

/** Whether this run uses the long sizes. */
export const IS_LONG = process.env.TEST_LONG === '1';

/**
 * Whether this run also expects time limits of the delivery. The limits hold on a machine without
 * other load.
 */
export const IS_TIMED = process.env.TEST_TIMED === '1';

/** Whether this run omits the longest tests. Such a run takes less than 40 s. */
export const IS_QUICK = process.env.TEST_QUICK === '1';

/**
 * The files that `npm run test:quick` leaves out, because they measure time or send many requests.
 */
export const NOT_QUICK = [
  ...[
    'any-body',
    'any-request',
    'bulk-turns',
    'fair-turns',
    'last-administrator',
    'openapi-conformance',
    'openapi-lint',
    'page-size',
    'paging',
    'rate-limit',
    'sign-in-limits',
    'unsent-responses',
    'zone-races',
    'zone-tld-agreement',
  ].map((name) => `test/http/${name}.test.ts`),
  'test/store/sqlite.test.ts',
];

/**
 * Returns the size of a test in this run: a number of requests, kills or seconds that determines
 * how long the test takes.
 */
export function sized(short: number, long: number): number {
  return IS_LONG ? long : short;
}

/**
 * Returns how many random cases a property test tries in this run. `long` is the number in a long
 * run. A short run tries a fifth.
 */
export function randomCases(long: number): number {
  return sized(Math.ceil(long / 5), long);
}

/**
 * The suites that use the most CPU time. They start programs in Python, build packages, cause
 * faults in many processes, or repeat at scale what a shorter suite tests. Only a long run includes
 * them.
 */
export const LONG_ONLY = [
  'audit/long-trail',
  'auth/keystone',
  'bench',
  'cli/examples',
  'clients/openapi-typescript',
  'clients/openstack',
  'clients/programs',
  'delivery/burst',
  'delivery/load',
  'delivery/many-agents',
  'domain/growth',
  'nameservers/documents',
  'nameservers/round-trips',
  'postgres/copy',
  'postgres/delivery-chaos',
  'postgres/dump',
  'postgres/encryption-faults',
  'postgres/passwords',
  'postgres/restore',
  'postgres/rolling-restart',
  'postgres/takeover',
  'postgres/worker-reload',
  'postgres/worker-secrets',
  'process/agent-namespace',
  'process/audit-durability',
  'process/bulk-memory',
  'process/connections',
  'process/demo',
  'process/encryption-start',
  'process/kill-list',
  'process/log-faults',
  'process/lost-files',
  'process/one-process',
  'process/restore',
  'process/storage-faults',
  'process/tls-connections',
  'process/token-leaks',
  'process/zone-kill',
  'release',
].map((name) => `test/${name}.test.ts`);

/** Documents whose examples every run executes. A long run executes those of every document. */
export const ALWAYS_EXECUTED = ['README.md', 'docs/signed-transfers.md'];

/** The suites that attack a service. They run alone on the machine, and only in a long run. */
export const ATTACKS = 'test/limits/{anonymous,callers,postgres}.test.ts';

/** Delivery suites whose results do not depend on the database. */
export const ON_SQLITE_ONLY = [
  'adoption-walk',
  'brands',
  'burst',
  'faults',
  'kill',
  'load',
  'many-agents',
].map((name) => `test/delivery/${name}.test.ts`);

/**
 * Suites of the API and of delivery that a short run repeats on PostgreSQL. A long run repeats all
 * such suites, except `ON_SQLITE_ONLY`.
 */
export const ON_POSTGRES_WHEN_SHORT = [
  'actions',
  'bulk',
  'collections',
  'entity-tags',
  'filters',
  'import',
  'lists',
  'pools',
  'references',
  'tlds',
  'tokens',
  'tsigkeys',
  'zone-changes',
  'zone-tld-check',
  'zones',
]
  .map((name) => `test/http/${name}.test.ts`)
  .concat(
    ['crash', 'outbox', 'reconciler', 'restore'].map((name) => `test/delivery/${name}.test.ts`),
  );
