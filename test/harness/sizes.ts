/**
 * The sizes of tests that could run for any length of time. `npm test` uses the short sizes.
 * `.ci/run` sets TEST_LONG=1 and uses the long sizes. A short test checks the same guarantee with
 * fewer attempts.
 */

/** Whether this run uses the long sizes. */
export const IS_LONG = process.env.TEST_LONG === '1';

/**
 * Whether this run measures the delivery to name servers. The run requires an otherwise idle
 * machine, uses the `timed` sizes, and fails if the delivery exceeds its time limits.
 */
export const IS_TIMED = process.env.TEST_TIMED === '1';

/** Whether this run omits the longest tests. Such a run takes less than 40 s. */
export const IS_QUICK = process.env.TEST_QUICK === '1';

/**
 * The files that `npm run test:quick` leaves out, because they measure time or send many requests.
 */
export const NOT_QUICK = [
  ...[
    ...['any-body', 'any-request', 'bulk-turns', 'fair-turns', 'last-administrator'],
    ...['openapi-conformance', 'openapi-lint', 'page-size', 'paging', 'rate-limit'],
    ...['sign-in-limits', 'unsent-responses', 'zone-races', 'zone-tld-agreement'],
  ].map((name) => `test/http/${name}.test.ts`),
  'test/store/sqlite.test.ts',
];

/** The size in a short run, and the size in a long run or in a run that measures the delivery. */
type Size = { short: number } & ({ long: number } | { timed: number });

const SIZES = {
  /** Seconds during which a test kills services and databases. */
  chaosSeconds: { short: 8, long: 180 },
  /** Seconds during which 64 callers create TLD entries and zones. */
  contentionSeconds: { short: 4, long: 60 },
  /** Rotations of the master key while four processes write. */
  keyRotations: { short: 3, long: 10 },
  /** Keys that one apply of a driver creates. */
  driverKeys: { short: 100, long: 1000 },
  /** Kills during concurrent writes, and during concurrent zone changes. */
  killRounds: { short: 4, long: 20 },
  /** Keys whose secrets no file may contain. */
  keysSearched: { short: 200, long: 1000 },
  /** Keys that an upgrade encrypts while a test kills it. */
  keysUpgraded: { short: 300, long: 1000 },
  /** The step between the times at which a test kills a service: 2 skips every second time. */
  killTimeStep: { short: 2, long: 1 },
  /** Records of an audit trail that the service must verify within a time limit. */
  auditRecordsVerified: { short: 100_000, long: 1_000_000 },
  /** Rounds in which two processes open each of five databases by different hard links. */
  hardLinkRounds: { short: 1, long: 4 },
  /** Keys that a driver creates and removes one after another, to measure the time. */
  driverRounds: { short: 5, long: 50 },
  /** Keys that a service delivers and removes one after another, to measure the time. */
  deliveryRounds: { short: 5, timed: 50 },
  /** Kinds of name servers that the demo runs. */
  demoServers: { short: 1, long: 4 },
  /** Kinds of name servers whose files, output and processes a test searches for secrets. */
  searchedServers: { short: 1, long: 4 },
  /** Keys that callers create at the same time, to count the reloads and the lost queries. */
  burstKeys: { short: 300, timed: 1000 },
  /** Seconds for which a name server is down while callers create keys. */
  downSeconds: { short: 6, timed: 600 },
  /** Kills of a service while it delivers keys. */
  deliveryKills: { short: 3, timed: 20 },
  /** Keys on one name server. */
  manyKeys: { short: 2000, timed: 10_000 },
  /** Seconds during which a test measures an idle service. */
  idleSeconds: { short: 2, timed: 60 },
  /** Seconds of changes while services, name servers and the database fail. */
  deliveryChaosSeconds: { short: 20, timed: 300 },
  /** Restarts of each process behind the proxy. */
  rollingRestarts: { short: 1, long: 3 },
  /** List requests with different filters, to measure the memory of PostgreSQL. */
  differentLists: { short: 1000, long: 4000 },
  /** The length of a key file that a reader must parse in linear time, in bytes. */
  keyFileBytes: { short: 250_000, long: 1_000_000 },
  /** The divisor of the maximum body size, for the body that must parse in linear time. */
  jsonBodyDivisor: { short: 4, long: 1 },
} as const satisfies Record<string, Size>;

/** Returns the size of a test in this run. */
export function sizeOf(name: keyof typeof SIZES): number {
  const size: Size = SIZES[name];
  if ('timed' in size) return IS_TIMED ? size.timed : size.short;
  return IS_LONG ? size.long : size.short;
}

/**
 * Returns how many random cases a property test tries in this run. `long` is the number in a long
 * run. A short run tries a fifth, `npm run test:quick` a twentieth.
 */
export function randomCases(long: number): number {
  return IS_LONG ? long : Math.ceil(long / (IS_QUICK ? 20 : 5));
}

/**
 * The suites that use the most CPU time. They start programs in Python, build packages, cause
 * faults in many processes, or repeat at scale what a shorter suite tests. Only a long run includes
 * them.
 */
export const LONG_ONLY = [
  ...['audit/long-trail', 'auth/keystone', 'cli/examples'],
  ...['clients/openapi-typescript', 'clients/openstack'],
  ...['delivery/burst', 'delivery/load', 'delivery/many-agents', 'domain/growth'],
  ...['nameservers/documents', 'nameservers/round-trips'],
  ...['postgres/copy', 'postgres/delivery-chaos', 'postgres/dump', 'postgres/encryption-faults'],
  ...['postgres/passwords', 'postgres/restore', 'postgres/rolling-restart'],
  'postgres/takeover',
  ...['postgres/worker-reload', 'postgres/worker-secrets'],
  ...['process/agent-brands', 'process/agent-namespace', 'process/audit-durability'],
  ...['process/bulk-memory', 'process/connections', 'process/demo', 'process/encryption-start'],
  ...['process/kill-list', 'process/log-faults', 'process/lost-files', 'process/one-process'],
  ...['process/restore', 'process/storage-faults', 'process/tls-connections'],
  ...['process/token-leaks', 'process/zone-kill'],
  'release',
].map((name) => `test/${name}.test.ts`);

/** Documents whose examples every run executes. A long run executes those of every document. */
export const ALWAYS_EXECUTED = ['README.md', 'docs/signed-transfers.md'];

/** The suites that attack a service. They run alone on the machine, and only in a long run. */
export const ATTACKS = 'test/limits/{anonymous,callers,postgres}.test.ts';

/** Delivery suites whose results do not depend on the database. */
export const ON_SQLITE_ONLY = ['brands', 'burst', 'faults', 'kill', 'load', 'many-agents'].map(
  (name) => `test/delivery/${name}.test.ts`,
);

/**
 * Suites of the API and of delivery that a short run repeats on PostgreSQL. A long run repeats all
 * such suites, except `ON_SQLITE_ONLY`.
 */
export const ON_POSTGRES_WHEN_SHORT = [
  ...['actions', 'bulk', 'collections', 'entity-tags', 'filters', 'import', 'lists'],
  ...[
    'pools',
    'references',
    'tlds',
    'tokens',
    'tsigkeys',
    'zone-changes',
    'zone-tld-check',
    'zones',
  ],
]
  .map((name) => `test/http/${name}.test.ts`)
  .concat(
    ['crash', 'outbox', 'reconciler', 'restore'].map((name) => `test/delivery/${name}.test.ts`),
  );
