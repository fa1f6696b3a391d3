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
 * run. A short run, and the repetition on PostgreSQL, try a fifth.
 */
export function randomCases(long: number): number {
  const short = Math.ceil(long / 5);
  return process.env.TEST_DATABASE === 'postgres' ? short : sized(short, long);
}

/**
 * The suites that use the most CPU time. They start programs in Python, build packages, cause
 * faults in many processes, or repeat at scale what a shorter suite tests. Only a long run includes
 * them.
 */
export const LONG_ONLY = [
  'audit/long-trail',
  'audit/reads',
  'auth/keystone',
  'auth/keystone-sign-in',
  'bench',
  'cli/access-import',
  'cli/examples',
  'cli/program',
  'cli/running-server',
  'cli/tld-import',
  'cli/token',
  'cli/tsigkey-import',
  'clients/openapi-typescript',
  'clients/openstack',
  'clients/programs',
  'console/keystone',
  'console/looks',
  'delivery/agent-lease',
  'delivery/burst',
  'delivery/fleet-rotation',
  'delivery/killed-rotation',
  'delivery/load',
  'delivery/many-agents',
  'delivery/many-rotations',
  'delivery/rotation',
  'domain/growth',
  'http/audit-long',
  'http/bulk-turns',
  'http/console-sign-in',
  'http/openapi-conformance',
  'nameservers/documents',
  'nameservers/round-trips',
  'postgres/audit',
  'postgres/audit-attacks',
  'postgres/chaos',
  'postgres/contention',
  'postgres/copy',
  'postgres/delivery-chaos',
  'postgres/dump',
  'postgres/encryption',
  'postgres/encryption-faults',
  'postgres/events',
  'postgres/passwords',
  'postgres/processes',
  'postgres/races',
  'postgres/restore',
  'postgres/rolling-restart',
  'postgres/scans',
  'postgres/statements',
  'postgres/takeover',
  'postgres/worker-reload',
  'postgres/worker-secrets',
  'process/agent-namespace',
  'process/audit-durability',
  'process/bulk-memory',
  'process/connections',
  'process/copy-database',
  'process/demo',
  'process/encryption-maintenance',
  'process/encryption-start',
  'process/kill-list',
  'process/log-faults',
  'process/lost-files',
  'process/one-process',
  'process/restore',
  'process/rotation-data',
  'process/start',
  'process/stop',
  'process/storage-faults',
  'process/tls-connections',
  'process/token-leaks',
  'process/zone-kill',
  'release',
  'store/list-plans',
].map((name) => `test/${name}.test.ts`);

/** Documents whose examples every run executes. A long run executes those of every document. */
export const ALWAYS_EXECUTED = ['README.md', 'docs/signed-transfers.md'];

/** The suites that attack a service. They run alone on the machine, and only in a long run. */
export const ATTACKS = 'test/limits/{anonymous,callers,postgres}.test.ts';

/** Suites of the API and of delivery whose results do not depend on the database. */
export const ON_SQLITE_ONLY = [
  ...[
    'adopted-keys',
    'adoption',
    'adoption-walk',
    'agent-formats',
    'agent-trust',
    'bind',
    'blocked',
    'brands',
    'burst',
    'commands',
    'commands-of-agents',
    'faults',
    'fleet-rotation',
    'grants',
    'import',
    'key-references',
    'key-uses',
    'keymanager',
    'kill',
    'killed-rotation',
    'load',
    'many-agents',
    'many-rotations',
    'prepared',
    'probe-zone',
    'redaction',
    'repaired-configuration',
    'secrets',
  ].map((name) => `test/delivery/${name}.test.ts`),
  ...[
    'base-url',
    'body-budget',
    'cors',
    'docs-page',
    'documents',
    'fair-turns',
    'headers',
    'json-shape',
    'listen',
    'methods',
    'metrics-access',
    'openapi',
    'openapi-conformance',
    'openapi-lint',
    'openapi-rules',
    'page-size',
    'pipelined-requests',
    'pipelining',
    'rate-limit',
    'required-members',
    'resource-json',
    'response-batches',
    'roles',
    'sign-in-limits',
    'token-addresses',
    'unsent-responses',
  ].map((name) => `test/http/${name}.test.ts`),
];

/**
 * Suites of the API and of delivery that a short run repeats on PostgreSQL. A long run repeats all
 * such suites, except `ON_SQLITE_ONLY`.
 */
export const ON_POSTGRES_WHEN_SHORT = [
  ...[
    'entity-tags',
    'filters',
    'lists',
    'references',
    'tlds',
    'tokens',
    'tsigkeys',
    'zone-changes',
    'zone-tld-check',
    'zones',
  ].map((name) => `test/http/${name}.test.ts`),
  ...['outbox', 'restore'].map((name) => `test/delivery/${name}.test.ts`),
];
