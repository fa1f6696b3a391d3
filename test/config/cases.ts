import { ConfigError, readConfig } from '../../src/config/config.ts';

/** The settings. Each has its variable, a value that is not the default, and an invalid value. */
export const CASES: Readonly<
  Record<string, readonly [variable: string, good: unknown, bad: unknown]>
> = {
  compatibility: ['TSIGIL_COMPATIBILITY', 'designate', 'keystone'],
  listen: ['TSIGIL_LISTEN', '[::1]:8080', 'localhost'],
  publicUrl: ['TSIGIL_PUBLIC_URL', 'https://dns.example/api', 'dns.example'],
  database: ['TSIGIL_DATABASE_URL', 'sqlite:/srv/t.db', 'mysql://localhost'],
  'databasePool.maxConnections': ['TSIGIL_DATABASE_POOL_MAX_CONNECTIONS', 25, 0],
  'databasePool.password': ['PGPASSWORD', 'p4ss two', ['a']],
  adminToken: ['TSIGIL_ADMIN_TOKEN', 'a-token-of-my-own-that-nobody-guesses', 'two words'],
  'tls.cert': ['TSIGIL_TLS_CERT', 'cert.pem', ['cert.pem']],
  'tls.key': ['TSIGIL_TLS_KEY', 'key.pem', ['key.pem']],
  'tls.hstsMaxAgeSeconds': ['TSIGIL_TLS_HSTS_MAX_AGE_SECONDS', 31_536_000, -1],
  'encryption.masterKey': [
    'TSIGIL_ENCRYPTION_MASTER_KEY',
    'tsigilmk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    'tsigilmk_short',
  ],
  'encryption.masterKeyFile': ['TSIGIL_ENCRYPTION_MASTER_KEY_FILE', 'master.key', ['master.key']],
  'encryption.required': ['TSIGIL_ENCRYPTION_REQUIRED', false, 'yes'],
  'audit.secretReads': ['TSIGIL_AUDIT_SECRET_READS', 'each', 'some'],
  'audit.retentionDays': ['TSIGIL_AUDIT_RETENTION_DAYS', 0, -1],
  'audit.toLog': ['TSIGIL_AUDIT_TO_LOG', true, 'maybe'],
  'auth.insufficientRightsStatus': ['TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS', 403, 404],
  'auth.method': ['TSIGIL_AUTH_METHOD', ['tokens', 'keystone'], 'password'],
  'auth.keystone.url': [
    'TSIGIL_AUTH_KEYSTONE_URL',
    'https://keystone.example:5000',
    'keystone.example',
  ],
  'auth.keystone.publicUrl': [
    'TSIGIL_AUTH_KEYSTONE_PUBLIC_URL',
    'https://keystone.example:5000',
    'keystone.example',
  ],
  'auth.keystone.caFile': ['TSIGIL_AUTH_KEYSTONE_CA_FILE', 'ca.pem', ['ca.pem']],
  'auth.keystone.username': ['TSIGIL_AUTH_KEYSTONE_USERNAME', 'someone', ['a']],
  'auth.keystone.password': ['TSIGIL_AUTH_KEYSTONE_PASSWORD', 'p4ss two', ['a']],
  'auth.keystone.userDomain': ['TSIGIL_AUTH_KEYSTONE_USER_DOMAIN', 'People', ['a']],
  'auth.keystone.project': ['TSIGIL_AUTH_KEYSTONE_PROJECT', 'service', ['a']],
  'auth.keystone.projectDomain': ['TSIGIL_AUTH_KEYSTONE_PROJECT_DOMAIN', 'Services', ['a']],
  'auth.keystone.applicationCredentialId': [
    'TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_ID',
    'abc',
    ['a'],
  ],
  'auth.keystone.applicationCredentialSecret': [
    'TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_SECRET',
    's3cret',
    ['a'],
  ],
  'auth.keystone.timeoutSeconds': ['TSIGIL_AUTH_KEYSTONE_TIMEOUT_SECONDS', 1, 0],
  'auth.keystone.maxTokenDays': ['TSIGIL_AUTH_KEYSTONE_MAX_TOKEN_DAYS', 7, -1],
  'auth.keystone.cacheSeconds': ['TSIGIL_AUTH_KEYSTONE_CACHE_SECONDS', 0, -1],
  policy: ['TSIGIL_POLICY', { 'tlds:list': ['admin', 'reader'] }, { 'tlds:steal': ['admin'] }],
  'api.defaultLimit': ['TSIGIL_API_DEFAULT_LIMIT', 20, 0],
  'api.maxBodyBytes': ['TSIGIL_API_MAX_BODY_BYTES', 2048, 1.5],
  'api.requestTimeoutSeconds': ['TSIGIL_API_REQUEST_TIMEOUT_SECONDS', 5, 0],
  'api.responseTimeoutSeconds': ['TSIGIL_API_RESPONSE_TIMEOUT_SECONDS', 5, 0],
  'api.scanTimeoutSeconds': ['TSIGIL_API_SCAN_TIMEOUT_SECONDS', 5, 0],
  'api.maxConnections': ['TSIGIL_API_MAX_CONNECTIONS', 100, 0],
  'api.maxConnectionsPerAddress': ['TSIGIL_API_MAX_CONNECTIONS_PER_ADDRESS', 10, 1.5],
  'api.trustProxyHeaders': ['TSIGIL_API_TRUST_PROXY_HEADERS', true, 'yes'],
  'cors.allowedOrigins': [
    'TSIGIL_CORS_ALLOWED_ORIGINS',
    ['https://console.example'],
    ['https://console.example/path'],
  ],
  'metrics.token': ['TSIGIL_METRICS_TOKEN', 'a-token-of-prometheus-that-nobody-guesses', 'short'],
  'metrics.addresses': ['TSIGIL_METRICS_ADDRESSES', ['127.0.0.1', 'fd00::/8'], ['10.0.0.5/8']],
  'rateLimit.requestsPerSecond': ['TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND', 50, -1],
  'rateLimit.anonymousRequestsPerSecond': [
    'TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND',
    0,
    -1,
  ],
  'console.enabled': ['TSIGIL_CONSOLE_ENABLED', false, 'maybe'],
  'console.idleSeconds': ['TSIGIL_CONSOLE_IDLE_SECONDS', 600, 1],
  'console.lifetimeSeconds': ['TSIGIL_CONSOLE_LIFETIME_SECONDS', 3600, 1],
  'console.confirmReveal': ['TSIGIL_CONSOLE_CONFIRM_REVEAL', 'recent', 'always'],
  'tsigkeys.strict': ['TSIGIL_TSIGKEYS_STRICT', true, 1],
  'tsigkeys.requireResource': ['TSIGIL_TSIGKEYS_REQUIRE_RESOURCE', true, 'sometimes'],
  'tsigkeys.overlapSeconds': ['TSIGIL_TSIGKEYS_OVERLAP_SECONDS', 86_400, -1],
  'tsigkeys.graceSeconds': ['TSIGIL_TSIGKEYS_GRACE_SECONDS', 0, 'a week'],
  'tsigkeys.maxAgeDays': ['TSIGIL_TSIGKEYS_MAX_AGE_DAYS', 365, -1],
  'zones.tldRule': ['TSIGIL_ZONES_TLD_RULE', 'any-suffix', 'any'],
  'zones.perProject': ['TSIGIL_ZONES_PER_PROJECT', 10, -1],
  'zones.pendingStatus': ['TSIGIL_ZONES_PENDING_STATUS', true, 'maybe'],
  nameServers: [
    'TSIGIL_NAME_SERVERS',
    [{ name: 'ns1', driver: 'bind', address: '192.0.2.53', local: {} }],
    [{ name: 'ns1' }],
  ],
  'log.level': ['TSIGIL_LOG_LEVEL', 'warn', 'debug'],
  stopGraceSeconds: ['TSIGIL_STOP_GRACE_SECONDS', 0, 'soon'],
};

const USER = {
  'auth.keystone.username': 'tsigil',
  'auth.keystone.password': 'p4ss',
  'auth.keystone.project': 'service',
};
const CREDENTIAL = {
  'auth.keystone.applicationCredentialId': 'abc',
  'auth.keystone.applicationCredentialSecret': 's3cret',
};

/** The values of other settings, by the setting that requires them. */
export const COMPANIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'tls.cert': { 'tls.key': 'key.pem' },
  'tls.key': { 'tls.cert': 'cert.pem' },
  'auth.method': { 'auth.keystone.url': 'https://keystone.example:5000' },
  ...Object.fromEntries(Object.keys(USER).map((key) => [key, USER])),
  ...Object.fromEntries(Object.keys(CREDENTIAL).map((key) => [key, CREDENTIAL])),
};

/** Returns all problems of an environment, of a file, and those that `further` finds. */
export function problemsOf(
  environment: NodeJS.ProcessEnv,
  path?: string,
  further?: Parameters<typeof readConfig>[2],
): readonly string[] {
  try {
    readConfig(path, environment, further);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
