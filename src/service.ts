import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createFirstToken } from './auth/first-token.ts';
import { openAuthentication } from './auth/methods.ts';
import { createClock, systemTime } from './clock.ts';
import { connectionLimits, readOpenFilesLimit } from './config/connection-limits.ts';
import type { Config } from './config/options.ts';
import { warnAboutKey } from './config/reload.ts';
import type { ActionDependencies } from './domain/actions/action.ts';
import type { ServiceError } from './domain/model/errors.ts';
import type { Clock } from './domain/model/ports.ts';
import { DEFAULT_POLICY } from './domain/resources/policy.ts';
import type { Rotations } from './domain/operations/change.ts';
import { POLL_MS, type RotationObserver } from './domain/rotation/advance.ts';
import { WINDOW_MS } from './domain/rotation/facts.ts';
import { openAudit } from './store/audit/open.ts';
import { logSecrets, openKeyring } from './store/open-keyring.ts';
import { isLoopback, listen, listenAddresses, splitAddress } from './http/connection/listen.ts';
import { changeCertificate, type Certificate } from './http/connection/node-server.ts';
import { ENCRYPTION_GAUGES, ROTATION_GAUGES, TRAIL_GAUGES } from './http/metrics/metric-table.ts';
import {
  addDatabaseGauges,
  addNameServerGauges,
  createMetrics,
  createPassMetrics,
} from './http/metrics/metrics.ts';
import type { LiveSettings } from './http/live-settings.ts';
import type { Log } from './http/request-log.ts';
import type { RateLimit } from './http/request/rate-limit.ts';
import { handlersEnded } from './http/request/routes.ts';
import { createServer } from './http/server.ts';
import { serveAgents } from './nameservers/agents/serve-agents.ts';
import { prepareDelivery } from './nameservers/reconciler/delivery.ts';
import { assertServable } from './store/copy-marks.ts';
import { parseDatabase, shownDatabase } from './store/databases.ts';
import { openDelivery } from './store/delivery/delivery-status.ts';
import { openDatabase } from './store/open-database.ts';
import { runRotations } from './store/rotations.ts';
import { runSessionCleanUp } from './store/sessions.ts';
import { runEncryption } from './store/secrets/encryption.ts';
import { CONSOLE_FOLDER, GUIDES_URL, VERSION } from './version.ts';

export interface Service {
  readonly url: string;
  /** The address of the web console, unless it is disabled or not built. */
  readonly consoleUrl: string | undefined;
  /**
   * The file that contains the first administrator token, if the service created this token at
   * startup.
   */
  readonly tokenFile: string | undefined;
  /** The file of the master key that the service created at this start. */
  readonly masterKeyFile: string | undefined;
  /**
   * Applies a changed configuration to later requests, and `certificate` to later connections.
   * Throws Node's error, and changes nothing, if the certificate cannot be used.
   */
  change(config: Config, certificate: Certificate | undefined): void;
  /**
   * Stops accepting connections, waits up to `stopGraceSeconds` for requests and passes to finish,
   * and closes the database.
   */
  close(): Promise<void>;
}

const MIB = 1024 * 1024;

/** What requests and responses may hold in memory, in bytes. */
export const BYTE_LIMITS = {
  /** Of request bodies above 64 KiB. One caller may use a quarter, and at least one body. */
  maxBodyBytesInFlight: 32 * MIB,
  /** Of responses above 64 KiB that callers have not read yet. One caller may use a quarter. */
  maxUnsentBytes: 64 * MIB,
  /** Of the items of a page, which ends before the item that would exceed it. */
  maxPageBytes: MIB,
};

/** The dependencies of a service. Tests may replace the optional dependencies. */
export interface ServiceDependencies {
  readonly log: Log;
  readonly again?: boolean;
  readonly clock?: Clock;
  readonly newId?: () => string;
  readonly randomBytes?: (size: number) => Buffer;
  /** How often a process reads the data keys that other processes changed. */
  readonly encryptionIntervalMs?: number;
  /** How often a process stores when tokens were last used. */
  readonly tokenUseIntervalMs?: number;
  readonly auditIntervalMs?: number;
  /** How often sessions of the console that have ended are deleted. */
  readonly sessionCleanUpMs?: number;
  /** The folder of the built console. */
  readonly consoleFolder?: string;
  /** How often rotations of keys are looked at, and how long a use of a key counts as recent. */
  readonly rotations?: Partial<Rotations> & { readonly intervalMs?: number };
  readonly byteLimits?: Partial<typeof BYTE_LIMITS>;
}

const FEW_FILES =
  'The limit of open files allows fewer connections than api.maxConnections. Raise the limit (LimitNOFILE= in systemd, ulimit -n in a shell) or lower the setting.';

const FORGED_SESSION =
  'Refused a session of the console that another program stored or changed in the database. List all such sessions: tsigil encryption verify';

const FORGED =
  'Refused a token that another program stored or changed in the database. List all such tokens: tsigil encryption verify';

/**
 * Opens the database, updates its schema, listens, and creates a first token if the database
 * contains no token. Throws `ServiceError` `unavailable` if the database cannot be used, and Node's
 * errors if the service cannot listen.
 */
export async function startService(
  config: Config,
  dependencies: ServiceDependencies,
): Promise<Service> {
  const { log } = dependencies;
  const clock = dependencies.clock ?? createClock(undefined, undefined, reportClockStep(log));
  const metrics = createMetrics(VERSION);
  const { kind, location } = parseDatabase(config.database);
  const failed = ({ message, details }: ServiceError) => log.error({ err: details.cause }, message);
  const secrets = openKeyring(config.database, config.encryption);
  const committed = (writes: number, seconds: number) => {
    metrics.note('tsigil_database_commit_duration_seconds', seconds);
    metrics.note('tsigil_database_writes_total', writes);
  };
  const { scanTimeoutSeconds } = config.api;
  const { database, store, report } = await openDatabase(
    config.database,
    config.databasePool,
    clock,
    { secrets, serving: { observer: { committed, failed }, scanTimeoutSeconds } },
  );
  let { stopGraceSeconds } = config;
  /** Aborts requests and passes that are still in progress when the time for a stop is over. */
  const overdue = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  const closers: (() => unknown)[] = [() => clearTimeout(deadline), () => store.close()];
  try {
    const processId = randomUUID();
    const encryption = runEncryption({
      ...secrets,
      database,
      now: clock,
      failed: (err) => log.error({ err }, 'The encryption keys could not be updated'),
      intervalMs: dependencies.encryptionIntervalMs,
    });
    closers.push(() => encryption.close());
    // A copy looks for connections after it has marked the database, so one of both sees the other.
    await assertServable(
      database,
      shownDatabase(config.database),
      dependencies.again === true,
      clock(),
    );
    addDatabaseGauges(metrics, () => encryption.status(), ENCRYPTION_GAUGES);
    let { audit } = config;
    const { running, trail, recording } = openAudit({
      database,
      keyring: secrets.keyring,
      now: clock,
      holder: processId,
      settings: () => audit,
      log,
      metrics: {
        count: ({ outcome }) => metrics.note('tsigil_audit_records_total', 1, { outcome }),
        repaired: () => metrics.note('tsigil_audit_repairs_total'),
      },
      intervalMs: dependencies.auditIntervalMs,
    });
    closers.push(() => running.close());
    addDatabaseGauges(metrics, () => running.state(), TRAIL_GAUGES);
    const countPass = createPassMetrics(metrics);
    const delivery = prepareDelivery({
      serveAgents,
      store,
      log,
      clock,
      observe(result, seconds) {
        countPass(result, seconds);
        for (const entry of result.events) recording.recorded(entry);
      },
      ...openDelivery(database, store, clock),
      nameServers: config.nameServers ?? [],
    });
    const beginDeliveryCounters = addNameServerGauges(metrics, store, delivery.status);
    closers.push(() => delivery.close(overdue.signal));
    const revokedTokens = new Set<string>();
    const lasting: LastingDependencies = {
      store,
      clock,
      newId: dependencies.newId ?? randomUUID,
      randomBytes: dependencies.randomBytes ?? randomBytes,
      encryption,
      audit: trail,
      version: VERSION,
      recording,
      rotations: { windowMs: WINDOW_MS, pollMs: POLL_MS, ...dependencies.rotations },
      delivery: delivery.status,
      agents: delivery.agents,
      onTokenRevoked: (id) => revokedTokens.add(id),
      warn({ type, id, requestId, message }) {
        log.warn(
          {
            collection: type.collection,
            resource: id,
            ...(requestId === undefined ? {} : { request_id: requestId }),
          },
          message,
        );
      },
    };
    const byteLimits = { ...BYTE_LIMITS, ...dependencies.byteLimits };
    const settings = liveSettings(config, lasting, byteLimits);
    let rotating = settings.dependencies;
    const rotations = runRotations({
      database,
      holder: processId,
      dependencies: () => rotating,
      observer: rotationObserver(log),
      failed: (err) => log.error({ err }, 'The rotations of keys could not be continued'),
      intervalMs: dependencies.rotations?.intervalMs,
    });
    closers.push(() => rotations.close());
    addDatabaseGauges(metrics, () => rotations.state(), ROTATION_GAUGES);
    const sessions = runSessionCleanUp({
      database,
      now: dependencies.clock ?? systemTime,
      idleSeconds: config.console.idleSeconds,
      failed: (err) => log.warn({ err }, 'Sessions that have ended stay stored'),
      intervalMs: dependencies.sessionCleanUpMs,
    });
    closers.push(() => sessions.close());
    const authentication = openAuthentication(config.auth.method, config.adminToken, {
      store,
      clock: dependencies.clock ?? systemTime,
      revokedTokens,
      forgedToken(id) {
        metrics.note('tsigil_forged_credentials_total');
        log.error({ token: id }, FORGED);
      },
      sessions: config.console.enabled
        ? {
            idleSeconds: config.console.idleSeconds,
            forged(id) {
              metrics.note('tsigil_forged_credentials_total');
              log.error({ session: id }, FORGED_SESSION);
            },
          }
        : undefined,
      tokenUses: { log, intervalMs: dependencies.tokenUseIntervalMs },
      keystone: config.auth.keystone,
      keystoneObserver: {
        validated: (outcome, seconds) =>
          metrics.note('tsigil_keystone_validation_duration_seconds', seconds, { outcome }),
        cacheHit: (outcome) => metrics.note('tsigil_keystone_cache_hits_total', 1, { outcome }),
      },
    });
    closers.push(() => authentication.close());
    const limits = connectionLimits(config, kind.shared, readOpenFilesLimit());
    if (limits.openFiles !== undefined) log.warn(limits, FEW_FILES);
    const publicUrl = config.publicUrl?.replace(/\/+$/, '');
    const { app, change, hasConsole } = createServer({
      ...config.api,
      ...byteLimits,
      ...limits,
      ...settings,
      metrics,
      log,
      version: VERSION,
      guides: GUIDES_URL,
      authenticate: authentication.authenticate,
      known: authentication.cachedCaller,
      noteUse: authentication.noteUse,
      webConsole: config.console.enabled
        ? {
            folder: dependencies.consoleFolder ?? CONSOLE_FOLDER,
            methods: config.auth.method,
            ...config.console,
          }
        : undefined,
      databaseConnections: database.connections,
      urls: {
        publicUrl,
        trustProxyHeaders: config.api.trustProxyHeaders,
      },
      errors: {
        insufficientRightsStatus: insufficientRightsStatus(config.auth),
        challenges: authentication.challenges,
      },
      tls: config.tls,
    });
    closers.push(async () => {
      overdue.signal.addEventListener('abort', () => app.server.closeAllConnections());
      deadline = setTimeout(() => overdue.abort(), stopGraceSeconds * 1000);
      await delivery.endWaiting();
      await app.close();
      await handlersEnded(app, overdue.signal);
    });
    const { host, port } = splitAddress(config.listen);
    const url = await listen(app, await listenAddresses(host), port);
    // Create the token last, so that a service that fails to start creates no token and reports no
    // file.
    const tokenFile = join(kind.folder(location), 'admin.token');
    const needsToken = config.adminToken === undefined && config.auth.method.includes('tokens');
    const createdToken = needsToken && (await createFirstToken(settings.dependencies, tokenFile));
    if (!isLoopback(host) && config.tls.cert === undefined) {
      log.warn(
        { listen: config.listen },
        'Listening at a non-loopback address without TLS: secrets and tokens cross the network in clear text. Set tls.cert and tls.key.',
      );
    }
    warnAboutKey(config.tls, log);
    logSecrets(process.stdout.isTTY ? { ...log, info: () => undefined } : log, secrets, report);
    await delivery.start(settings.dependencies);
    await beginDeliveryCounters();
    const link = await kind.linkTo(location);
    if (link !== undefined && !link.encrypted && !isLoopback(link.host)) {
      log.warn(
        { host: link.host },
        'The connection to PostgreSQL leaves this machine without TLS: secrets and tokens cross the network in clear text. Add sslmode=verify-full to the database URL.',
      );
    }
    return {
      url,
      consoleUrl: hasConsole ? `${publicUrl ?? url}/console/` : undefined,
      tokenFile: createdToken ? tokenFile : undefined,
      masterKeyFile: report.createdMasterKey === undefined ? undefined : secrets.file,
      change(next, certificate) {
        if (certificate !== undefined) changeCertificate(app.server, certificate);
        authentication.changeAdminToken(next.adminToken);
        const changed = liveSettings(next, lasting, byteLimits);
        rotating = changed.dependencies;
        change(changed);
        ({ stopGraceSeconds, audit } = next);
      },
      close: () => closeAll(closers),
    };
  } catch (error) {
    // Throw the startup error, not an error from the cleanup.
    await closeAll(closers).catch(() => undefined);
    throw error;
  }
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

/**
 * Returns the status of a response to a caller who lacks a right. With Keystone alone, the default
 * is 403, because Keystone clients sign in again after 401. Otherwise, the default is 401, as
 * Designate's API description specifies.
 */
function insufficientRightsStatus({
  insufficientRightsStatus: status,
  method,
}: Config['auth']): 401 | 403 {
  return status ?? (method.includes('tokens') ? 401 : 403);
}

/** The dependencies of operations that stay the same while the service runs. */
type LastingDependencies = Omit<ActionDependencies, 'policy' | 'settings'>;

/** Returns the settings of the HTTP server that may change while the server runs. */
export function liveSettings(
  config: Config,
  lasting: LastingDependencies,
  { maxPageBytes } = BYTE_LIMITS,
): LiveSettings {
  return {
    dependencies: {
      ...lasting,
      policy: { ...DEFAULT_POLICY, ...config.policy },
      settings: {
        strictTsigkeys: config.tsigkeys.strict,
        requireResource: config.tsigkeys.requireResource,
        tldRule: config.zones.tldRule,
        zonesPerProject: config.zones.perProject,
        pendingStatus: config.zones.pendingStatus,
        defaultLimit: config.api.defaultLimit,
        otherAdministrators:
          config.adminToken !== undefined || config.auth.method.includes('keystone'),
        ownTokens: config.auth.method.includes('tokens'),
        keystoneTokenDays: config.auth.keystone.maxTokenDays,
        maxPageBytes,
        sessionIdleSeconds: config.console.idleSeconds,
        confirmReveal: config.console.confirmReveal,
        overlapSeconds: config.tsigkeys.overlapSeconds,
        graceSeconds: config.tsigkeys.graceSeconds,
        maxAgeDays: config.tsigkeys.maxAgeDays,
      },
    },
    rateLimit: rateLimitOf(config.rateLimit.requestsPerSecond),
    addressRateLimit: rateLimitOf(config.rateLimit.anonymousRequestsPerSecond),
    allowedOrigins: config.cors.allowedOrigins,
    metricsAccess: { ...config.metrics, trustProxyHeaders: config.api.trustProxyHeaders },
  };
}

function rateLimitOf(requestsPerSecond: number): RateLimit {
  return { requestsPerSecond, burst: 4 * requestsPerSecond };
}

/**
 * Calls `closers` one after another, from last to first. Continues after a failure, and throws the
 * first failure at the end.
 */
export async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
