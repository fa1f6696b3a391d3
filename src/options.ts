import { METHODS } from './auth/methods.ts';
import { MAX_LIMIT, TLD_RULES } from './domain/settings.ts';
import {
  address,
  database,
  file,
  integer,
  integerIn,
  oneOf,
  origins,
  policy,
  someOf,
  text,
  tokenText,
  url,
  word,
  yesOrNo,
  type Reading,
} from './readings.ts';

/** One setting: its key in the configuration file, from which the environment variable's name follows. */
export interface Option extends Reading {
  readonly key: string;
  readonly default: unknown;
  readonly meaning: string;
  /** True for values that `check-config` must hide. */
  readonly secret?: boolean;
  /** The environment variable, where it does not follow from the key. */
  readonly variable?: string;
}

/** Every setting there is. Everything that knows settings reads this table. */
export const OPTIONS: readonly Option[] = [
  {
    key: 'listen',
    ...address(),
    default: '127.0.0.1:9001',
    meaning: 'Where the service listens. Port 0 takes a free one. IPv6 addresses stand in brackets: `[::1]:9001`.',
  },
  {
    key: 'publicUrl',
    ...url(),
    default: undefined,
    meaning:
      "The URL under which callers reach the service, for links. It is used in its ASCII form. Unset, links follow each request's `Host` header.",
  },
  {
    key: 'database',
    variable: 'TSIGIL_DATABASE_URL',
    ...database(),
    default: 'sqlite:var/tsigil.db',
    meaning:
      'Where everything is kept: `sqlite:` and the path of a file, which one process owns; or the URL of a PostgreSQL database, which any number of processes may share: `postgres://user@host/name`.',
  },
  {
    key: 'databasePool.maxConnections',
    ...integer(1, 1000),
    default: 10,
    meaning: 'The most connections that one process has to a PostgreSQL database.',
  },
  {
    key: 'databasePool.connectTimeoutSeconds',
    ...integer(1, 600),
    default: 5,
    meaning: 'How long a request waits for a connection to a PostgreSQL database.',
  },
  {
    key: 'databasePool.statementTimeoutSeconds',
    ...integer(1, 600),
    default: 10,
    meaning: 'How long a statement may take in a PostgreSQL database.',
  },
  {
    key: 'workers',
    ...integer(1, 256),
    default: 1,
    meaning: 'How many processes serve requests, for the cores of one machine. More than one needs a PostgreSQL database.',
  },
  {
    key: 'adminToken',
    ...tokenText(),
    default: undefined,
    secret: true,
    meaning:
      'An administrator token that is valid while it is configured, for containers and tests. Unset, and with no token in the database, one is made at the start and written to `admin.token` beside the database, or into `var/` where the database is PostgreSQL.',
  },
  {
    key: 'tls.cert',
    ...file(),
    default: undefined,
    meaning: 'A PEM file with the certificate chain. With `tls.key`, the service speaks HTTPS only.',
  },
  { key: 'tls.key', ...file(), default: undefined, meaning: "A PEM file with the certificate's private key." },
  {
    key: 'auth.insufficientRightsStatus',
    ...integerIn([401, 403]),
    default: 401,
    meaning:
      'The status for callers whose token is valid but whose roles do not suffice: 401 with type `access_denied`, or 403 with type `forbidden`.',
  },
  {
    key: 'auth.method',
    ...someOf(Object.keys(METHODS)),
    default: ['tokens'],
    meaning: "Whose tokens count: the service's own (`tokens`), those of an OpenStack Keystone (`keystone`), or both, as a list.",
  },
  {
    key: 'auth.keystone.url',
    ...url(),
    default: undefined,
    meaning: 'Where the service reaches Keystone, with or without a final `/v3`. Needed for the method `keystone`.',
  },
  {
    key: 'auth.keystone.publicUrl',
    ...url(),
    default: undefined,
    meaning: 'The Keystone that 401 answers point to. Unset, it is `auth.keystone.url`.',
  },
  {
    key: 'auth.keystone.caFile',
    ...file(),
    default: undefined,
    meaning: 'A PEM file with the authorities that may vouch for Keystone. Unset, they are those that Node.js knows.',
  },
  {
    key: 'auth.keystone.username',
    ...text(),
    default: undefined,
    meaning: "The service's own user in Keystone. With neither this nor an application credential, each token has to vouch for itself.",
  },
  { key: 'auth.keystone.password', ...text(), default: undefined, secret: true, meaning: 'The password of `auth.keystone.username`.' },
  { key: 'auth.keystone.userDomain', ...text(), default: 'Default', meaning: 'The name of the domain of `auth.keystone.username`.' },
  { key: 'auth.keystone.project', ...text(), default: undefined, meaning: 'The name of the project for which the user asks.' },
  { key: 'auth.keystone.projectDomain', ...text(), default: 'Default', meaning: 'The name of the domain of `auth.keystone.project`.' },
  {
    key: 'auth.keystone.applicationCredentialId',
    ...text(),
    default: undefined,
    meaning: 'The id of an application credential, instead of user, password and project.',
  },
  {
    key: 'auth.keystone.applicationCredentialSecret',
    ...text(),
    default: undefined,
    secret: true,
    meaning: 'The secret of `auth.keystone.applicationCredentialId`.',
  },
  {
    key: 'auth.keystone.timeoutSeconds',
    ...integer(1, 600),
    default: 5,
    meaning: 'How long a request waits for each answer of Keystone, repetitions included.',
  },
  {
    key: 'auth.keystone.cacheSeconds',
    ...integer(0, 86_400),
    default: 300,
    meaning: "For how long Keystone's word on a token counts, and so how late a revocation may take effect; 0 asks at every request.",
  },
  {
    key: 'auth.keystone.cacheEntries',
    ...integer(1, 10_000_000),
    default: 10_000,
    meaning: 'How many tokens are remembered; the one not used for longest goes first.',
  },
  {
    key: 'policy',
    ...policy(),
    default: {},
    meaning: 'Opens single operations to roles, or closes them, as `tlds:list: [admin, reader]`. What is not listed is as below.',
  },
  { key: 'api.defaultLimit', ...integer(1, MAX_LIMIT), default: MAX_LIMIT, meaning: 'How many items a list holds when the caller gives no `limit`.' },
  {
    key: 'api.platform',
    ...word(),
    default: 'Openstack',
    meaning: 'The word in the name of the header that carries the request id: `X-Openstack-Request-Id`.',
  },
  {
    key: 'api.maxBodyBytes',
    ...integer(1024, 64 * 1024 * 1024),
    default: 114_688,
    meaning: 'The largest request body; a larger one is answered with 413. Lists of TLD entries may have 2 MiB in any case.',
  },
  {
    key: 'api.maxBodyBytesInFlight',
    ...integer(1024 * 1024, 16 * 1024 * 1024 * 1024),
    default: 33_554_432,
    meaning:
      'How many bytes of request bodies above 64 KiB may be in memory at once; further requests wait. One caller takes at most a quarter, but always one body of the largest size.',
  },
  {
    key: 'api.maxHeaderBytes',
    ...integer(1024, 1024 * 1024),
    default: 16_384,
    meaning: 'The largest request head; a larger one is answered with 431.',
  },
  {
    key: 'api.requestTimeoutSeconds',
    ...integer(1, 3600),
    default: 30,
    meaning: 'How long a request may take to arrive in full.',
  },
  {
    key: 'api.trustProxyHeaders',
    ...yesOrNo(),
    default: false,
    meaning:
      'Read the scheme and host of links from `X-Forwarded-Proto` and `X-Forwarded-Host`, and the address of the client from the last element of `X-Forwarded-For`. Only behind a proxy that sets all three.',
  },
  {
    key: 'cors.allowedOrigins',
    ...origins(),
    default: [],
    meaning: 'Origins whose pages may call the API from a browser, such as `https://console.example`.',
  },
  {
    key: 'rateLimit.requestsPerSecond',
    ...integer(0, 1_000_000),
    default: 0,
    meaning: 'Requests a second that one caller may make in the long run; 0 sets no limit.',
  },
  { key: 'rateLimit.burst', ...integer(1, 1_000_000), default: 100, meaning: 'Requests that one caller may make at once before the rate counts.' },
  {
    key: 'rateLimit.anonymousRequestsPerSecond',
    ...integer(0, 1_000_000),
    default: 50,
    meaning:
      'Requests a second without a valid token that one address may make on average, and the /64 of an IPv6 address; 0 sets no limit. `/healthcheck` and `/readyz` are not counted.',
  },
  {
    key: 'rateLimit.anonymousBurst',
    ...integer(1, 1_000_000),
    default: 200,
    meaning: 'Requests without a valid token that one address may make at once before the rate counts.',
  },
  {
    key: 'tsigkeys.strict',
    ...yesOrNo(),
    default: false,
    meaning: 'Refuse keys that no name server could use: a name that is no domain name, a secret that is not base64.',
  },
  {
    key: 'tsigkeys.requireResource',
    ...yesOrNo(),
    default: false,
    meaning: 'Refuse keys whose `resource_id` is not the id of an existing pool (scope POOL) or zone (scope ZONE).',
  },
  {
    key: 'zones.tldRule',
    ...oneOf(TLD_RULES),
    default: 'last-label',
    meaning:
      'What must be a TLD entry for a zone to be created, once there are entries: the last label of its name (`last-label`), or any suffix of it (`any-suffix`).',
  },
  { key: 'zones.perProject', ...integer(0, 10_000_000), default: 0, meaning: 'How many zones one project may have; 0 sets no limit.' },
  {
    key: 'log.level',
    ...oneOf(['debug', 'info', 'warn', 'error']),
    default: 'info',
    meaning: 'The least important kind of line to log. Requests are logged at `info`.',
  },
  {
    key: 'stopGraceSeconds',
    ...integer(0, 3600),
    default: 10,
    meaning: 'How long requests that are under way may take to finish when the service is told to stop.',
  },
];

/** The environment variable of an option: `TSIGIL_`, and the key's words in capitals joined by underscores. */
export function variableOf(option: Option): string {
  return option.variable ?? `TSIGIL_${option.key.replaceAll('.', '_').replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;
}
