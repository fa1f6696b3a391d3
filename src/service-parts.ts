import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ACTIONS, type AllDependencies } from './actions.ts';
import { createFirstToken } from './tokens/first-token.ts';
import { openAuthentication, type Authentication } from './sign-in-methods.ts';
import { CHANGE_HOOKS } from './change-hooks.ts';
import { createClock } from './clock.ts';
import { timestampOf } from './core/text/timestamps.ts';
import { connectionLimits, readOpenFilesLimit } from './config/connection-limits.ts';
import type { Config } from './config/options.ts';
import { addConsole, readConsole } from './console/http/pages.ts';
import { addConsoleSessions } from './console/http/session.ts';
import type { Encryption } from './secrets/encryption-status.ts';
import type { ServiceError } from './core/errors.ts';
import type { Clock } from './core/ports.ts';
import type { Dependencies } from './resources/operations/change.ts';
import type { RotationObserver } from './rotation/advance.ts';
import {
  DEFAULT_ROTATIONS,
  type RotationDependencies,
  type Rotations,
} from './rotation/dependencies.ts';
import { isLoopback, listen, listenAddresses, splitAddress } from './http/connection/listen.ts';
import type { LiveSettings } from './http/live-settings.ts';
import { addDatabaseGauges, createMetrics } from './http/metrics/metrics.ts';
import type { Log } from './http/request-log.ts';
import { createServer, type HttpServer, type ServerOptions } from './http/server.ts';
import { serveAgents } from './delivery/agents/serve-agents.ts';
import { createPassMetrics, DELIVERY_METRICS } from './delivery/metrics.ts';
import { prepareDelivery, type RunningDelivery } from './delivery/reconciler/running-delivery.ts';
import {
  BYTE_LIMITS,
  insufficientRightsStatus,
  type LastingDependencies,
} from './service-settings.ts';
import { AUDIT_METRICS, TRAIL_GAUGES } from './audit/metrics.ts';
import { openAudit } from './audit/store/open.ts';
import { parseDatabase } from './sql/databases.ts';
import { openDelivery } from './delivery/store/delivery-status.ts';
import { openDatabase } from './database/open-database.ts';
import { openKeyring } from './secrets/store/open-keyring.ts';
import { ROTATION_GAUGES } from './rotation/metrics.ts';
import { runRotations } from './rotation/job.ts';
import { ENCRYPTION_GAUGES } from './secrets/metrics.ts';
import { runEncryption } from './secrets/store/encryption.ts';
import { KEYSTONE_METRICS } from './keystone/metrics.ts';
import { runSessionCleanUp } from './tokens/job/sessions.ts';
import { TOKEN_METRICS } from './tokens/metrics.ts';
import { clientsIn } from './uses/clients.ts';
import { createLogReaderOf } from './uses/log-reader.ts';
import { createUseReader, LOG_STORE } from './uses/store.ts';
import { keysThatIn } from './status/store.ts';
import { CONSOLE_FOLDER, GUIDES_URL, VERSION } from './version.ts';

/** The dependencies of a service. Tests may replace the optional dependencies. */
export interface ServiceDependencies {
  readonly log: Log;
  readonly again?: boolean;
  readonly clock?: Clock;
  /** How often a process reads the data keys that other processes changed. */
  readonly encryptionIntervalMs?: number;
  readonly tokenUseIntervalMs?: number;
  readonly auditIntervalMs?: number;
  readonly sessionCleanUpMs?: number;
  readonly consoleFolder?: string;
  /** How often rotations of keys are looked at, and how long a use of a key counts as recent. */
  readonly rotations?: Partial<Rotations> & { readonly intervalMs?: number };
  readonly byteLimits?: Partial<typeof BYTE_LIMITS>;
}

/** The tables of what features count, in the order in which `/metrics` shows them. */
const FEATURE_METRICS = [KEYSTONE_METRICS, TOKEN_METRICS, AUDIT_METRICS, DELIVERY_METRICS];

type Base = Awaited<ReturnType<typeof openBase>>;

/** Opens the database, and updates its schema. */
export async function openBase(config: Config, dependencies: ServiceDependencies) {
  const { log } = dependencies;
  const clock = dependencies.clock ?? createClock(undefined, undefined, reportClockStep(log));
  const metrics = createMetrics(VERSION, FEATURE_METRICS);
  const secrets = openKeyring(config.database, config.encryption);
  const observer = {
    committed(writes: number, seconds: number) {
      metrics.note('tsigil_database_commit_duration_seconds', seconds);
      metrics.note('tsigil_database_writes_total', writes);
    },
    failed: ({ message, details }: ServiceError) => log.error({ err: details.cause }, message),
  };
  const { scanTimeoutSeconds } = config.api;
  const opened = await openDatabase(config.database, config.databasePool, clock, {
    secrets,
    serving: { observer, scanTimeoutSeconds },
  });
  const { database, store, report } = opened;
  return {
    config,
    dependencies,
    log,
    clock,
    /** Follows the system clock also if it is set back. */
    systemClock: dependencies.clock ?? (() => timestampOf(Date.now())),
    metrics,
    secrets,
    database,
    store,
    report,
    /** The id of this process. */
    holder: randomUUID(),
    revokedTokens: new Set<string>(),
  };
}

export function startEncryption({ log, clock, metrics, secrets, database, dependencies }: Base) {
  const encryption = runEncryption({
    ...secrets,
    database,
    now: clock,
    failed: (err) => log.error({ err }, 'The encryption keys could not be updated'),
    intervalMs: dependencies.encryptionIntervalMs,
  });
  addDatabaseGauges(metrics, () => encryption.status(), ENCRYPTION_GAUGES);
  return encryption;
}

export function startAudit(base: Base, settings: () => Config['audit']) {
  const { metrics } = base;
  const audit = openAudit({
    database: base.database,
    keyring: base.secrets.keyring,
    now: base.clock,
    holder: base.holder,
    settings,
    log: base.log,
    metrics: {
      count: ({ outcome }) => metrics.note('tsigil_audit_records_total', 1, { outcome }),
      repaired: () => metrics.note('tsigil_audit_repairs_total'),
    },
    intervalMs: base.dependencies.auditIntervalMs,
  });
  addDatabaseGauges(metrics, () => audit.running.state(), TRAIL_GAUGES);
  return audit;
}

type Audit = ReturnType<typeof startAudit>;

/** Prepares the delivery of keys, which begins with `start`. */
export function createDelivery(
  { config, log, clock, metrics, database, store }: Base,
  { recording }: Audit,
): RunningDelivery {
  const countPass = createPassMetrics(metrics);
  return prepareDelivery({
    serveAgents,
    store,
    log,
    clock,
    observe(result, seconds) {
      countPass(result, seconds);
      for (const entry of result.events) recording.recorded(entry);
    },
    ...openDelivery(database, store, clock, LOG_STORE),
    logReaderOf: createLogReaderOf,
    nameServers: config.nameServers ?? [],
  });
}

export function lastingDependencies(
  { log, clock, database, store, revokedTokens, dependencies }: Base,
  encryption: Encryption,
  { trail, recording }: Audit,
  { status, agents }: RunningDelivery,
): LastingDependencies {
  const uses = createUseReader(database.reads);
  return {
    store,
    clock,
    hooks: CHANGE_HOOKS,
    newId: randomUUID,
    randomBytes,
    encryption,
    audit: trail,
    keysThat: keysThatIn(database),
    version: VERSION,
    recording,
    rotations: { ...DEFAULT_ROTATIONS, ...dependencies.rotations },
    delivery: status,
    uses,
    clients: clientsIn(uses),
    agents,
    onTokenRevoked: (id) => revokedTokens.add(id),
    warn: ({ type, id, requestId, message }) =>
      log.warn(
        {
          collection: type.collection,
          resource: id,
          ...(requestId === undefined ? {} : { request_id: requestId }),
        },
        message,
      ),
  };
}

export function startRotations(
  { log, metrics, database, holder, dependencies }: Base,
  current: () => RotationDependencies,
) {
  const rotations = runRotations({
    database,
    holder,
    dependencies: current,
    observer: rotationObserver(log),
    failed: (err) => log.error({ err }, 'The rotations of keys could not be continued'),
    intervalMs: dependencies.rotations?.intervalMs,
  });
  addDatabaseGauges(metrics, () => rotations.state(), ROTATION_GAUGES);
  return rotations;
}

export function startSessionCleanUp({ config, log, systemClock, database, dependencies }: Base) {
  return runSessionCleanUp({
    database,
    now: systemClock,
    idleSeconds: config.console.idleSeconds,
    failed: (err) => log.warn({ err }, 'Sessions that have ended stay stored'),
    intervalMs: dependencies.sessionCleanUpMs,
  });
}

export function startAuthentication(base: Base): Authentication {
  const { config, log, metrics, store, systemClock, revokedTokens } = base;
  const { enabled, idleSeconds } = config.console;
  const forged = (fields: object, message: string) => {
    metrics.note('tsigil_forged_credentials_total');
    log.error(fields, message);
  };
  return openAuthentication(config.auth.method, config.adminToken, {
    store,
    clock: systemClock,
    revokedTokens,
    forgedToken: (id) => forged({ token: id }, FORGED),
    sessions: enabled
      ? { idleSeconds, forged: (id) => forged({ session: id }, FORGED_SESSION) }
      : undefined,
    tokenUses: { log, intervalMs: base.dependencies.tokenUseIntervalMs },
    keystone: config.auth.keystone,
    keystoneObserver: {
      validated: (outcome, seconds) =>
        metrics.note('tsigil_keystone_validation_duration_seconds', seconds, { outcome }),
      cacheHit: (outcome) => metrics.note('tsigil_keystone_cache_hits_total', 1, { outcome }),
    },
  });
}

/** Creates the HTTP server, which does not listen yet. */
export function openServer(
  base: Base,
  settings: LiveSettings<AllDependencies>,
  { authenticate, cachedCaller, noteUse, challenges }: Authentication,
): HttpServer<AllDependencies> & { readonly hasConsole: boolean } {
  const { config, log, metrics, database, dependencies } = base;
  const { shared } = parseDatabase(config.database).kind;
  const limits = connectionLimits(config, shared, readOpenFilesLimit());
  if (limits.openFiles !== undefined) log.warn(limits, FEW_FILES);
  const urls = {
    publicUrl: publicUrlOf(config),
    trustProxyHeaders: config.api.trustProxyHeaders,
  };
  const routes = consoleRoutes(base, { authenticate, urls });
  const server = createServer({
    ...config.api,
    ...BYTE_LIMITS,
    ...dependencies.byteLimits,
    ...limits,
    ...settings,
    metrics,
    log,
    version: VERSION,
    guides: GUIDES_URL,
    actions: ACTIONS,
    authenticate,
    known: cachedCaller,
    noteUse,
    ...routes,
    databaseConnections: database.connections,
    urls,
    errors: { insufficientRightsStatus: insufficientRightsStatus(config.auth), challenges },
    tls: config.tls,
  });
  return { ...server, hasConsole: routes.hasConsole };
}

function consoleRoutes(
  { config, dependencies }: Base,
  shared: Pick<ServerOptions, 'authenticate' | 'urls'>,
): Pick<ServerOptions, 'furtherRoutes' | 'hasConsole'> {
  const { enabled, idleSeconds, lifetimeSeconds } = config.console;
  if (!enabled) return { furtherRoutes: [], hasConsole: false };
  const files = readConsole(dependencies.consoleFolder ?? CONSOLE_FOLDER);
  const sessions = {
    ...shared,
    version: VERSION,
    idleSeconds,
    lifetimeSeconds,
    methods: config.auth.method,
    seconds: () => performance.now() / 1000,
  };
  return {
    furtherRoutes: [(app) => addConsole(app, files), (app) => addConsoleSessions(app, sessions)],
    hasConsole: files !== undefined,
  };
}

export function publicUrlOf({ publicUrl }: Config): string | undefined {
  return publicUrl?.replace(/\/+$/, '');
}

/** Returns the URL of the first address. */
export async function startListening({ config }: Base, { app }: HttpServer): Promise<string> {
  const { host, port } = splitAddress(config.listen);
  return listen(app, await listenAddresses(host), port);
}

/** Creates the first token, if the database contains none. Returns the file that contains it. */
export async function createToken(
  { config }: Base,
  dependencies: Dependencies,
): Promise<string | undefined> {
  if (config.adminToken !== undefined || !config.auth.method.includes('tokens')) return undefined;
  const { kind, location } = parseDatabase(config.database);
  const file = join(kind.folder(location), 'admin.token');
  return (await createFirstToken(dependencies, file)) ? file : undefined;
}

export async function warnAboutClearText({ config, log }: Base): Promise<void> {
  if (!isLoopback(splitAddress(config.listen).host) && config.tls.cert === undefined)
    log.warn({ listen: config.listen }, CLEAR_TO_CALLERS);
  const { kind, location } = parseDatabase(config.database);
  const link = await kind.linkTo(location);
  if (link !== undefined && !link.encrypted && !isLoopback(link.host))
    log.warn({ host: link.host }, CLEAR_TO_DATABASE);
}

function reportClockStep(log: Log): (reached: string, now: string) => void {
  return (reached, now) =>
    log.warn(
      { reached, now },
      'The system clock was set back. Timestamps follow the system clock, so newer resources may have older timestamps',
    );
}

/** Logs and counts what the job of rotations finds. Keys are in the log by name, and in no metric. */
function rotationObserver(log: Log): RotationObserver {
  return {
    waiting: ({ id, name }, reason, who) =>
      log.warn({ tsigkey: id, name, reason, who }, 'The rotation of a key waits'),
    retired: ({ id, name }) => log.info({ tsigkey: id, name }, 'Retired a key'),
    usedAfterRetirement({ id, name, count, lastAt, addresses }) {
      const details = { tsigkey: id, name, count, last_at: lastAt, addresses };
      log.warn(details, USED_AFTER_RETIREMENT);
    },
    expiring: ({ id, name }, expiresAt, days) =>
      log.warn(
        { tsigkey: id, name, expires_at: expiresAt, days },
        'A key should be replaced: POST /v2/tsigkeys/{id}/rotate',
      ),
  };
}

const USED_AFTER_RETIREMENT =
  'A client uses a retired key. To make the key valid again: POST /v2/tsigkeys/{id}/restore';

const FEW_FILES =
  'The limit of open files allows fewer connections than api.maxConnections. Raise the limit (LimitNOFILE= in systemd, ulimit -n in a shell) or lower the setting.';

const FORGED_SESSION =
  'Refused a session of the console that another program stored or changed in the database. List all such sessions: tsigil encryption verify';

const FORGED =
  'Refused a token that another program stored or changed in the database. List all such tokens: tsigil encryption verify';

const CLEAR_TO_CALLERS =
  'Listening at a non-loopback address without TLS: secrets and tokens cross the network in clear text. Set tls.cert and tls.key.';

const CLEAR_TO_DATABASE =
  'The connection to PostgreSQL leaves this machine without TLS: secrets and tokens cross the network in clear text. Add sslmode=verify-full to the database URL.';
