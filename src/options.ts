import { API_OPTIONS } from './api-options.ts';
import { METHODS } from './auth/methods.ts';
import { TLD_RULES } from './domain/settings.ts';
import {
  address,
  database,
  file,
  integer,
  integerIn,
  oneOf,
  password,
  policy,
  someOf,
  text,
  tokenText,
  url,
  yesOrNo,
  type Option,
} from './readings.ts';

export type { Option } from './readings.ts';

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
    key: 'databasePool.password',
    variable: 'PGPASSWORD',
    ...password(),
    default: undefined,
    secret: true,
    meaning: 'The password for a PostgreSQL database whose URL has none.',
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
    key: 'tls.handshakeTimeoutSeconds',
    ...integer(1, 600),
    default: 10,
    meaning: 'How long a TLS handshake may take. The service then closes the connection.',
  },
  {
    key: 'tls.hstsMaxAgeSeconds',
    ...integer(0, 63_072_000),
    default: 0,
    meaning:
      'The `max-age` of the header `Strict-Transport-Security`, which tells browsers to use HTTPS only. Sent with every response over TLS; 0 sends none.',
  },
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
    meaning: 'How long a request waits for Keystone: sign-in, validation and retries together.',
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
  ...API_OPTIONS,
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

/** The environment variable that names a file with the value of a secret option; undefined for options that are no secrets. */
export function fileVariableOf(option: Option): string | undefined {
  return option.secret === true ? `${variableOf(option)}_FILE` : undefined;
}
