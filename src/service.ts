import type { Config } from './config/options.ts';
import { warnAboutKey } from './config/reload.ts';
import { addNameServerGauges } from './delivery/metrics.ts';
import { changeCertificate, type Certificate } from './http/connection/node-server.ts';
import { handlersEnded } from './http/request/routes.ts';
import {
  createDelivery,
  createToken,
  lastingDependencies,
  openBase,
  openServer,
  publicUrlOf,
  startAudit,
  startAuthentication,
  startEncryption,
  startListening,
  startRotations,
  startSessionCleanUp,
  warnAboutClearText,
  type ServiceDependencies,
} from './service-parts.ts';
import { liveSettings } from './service-settings.ts';
import { assertServable } from './backup/copy-marks.ts';
import { shownDatabase } from './sql/databases.ts';
import { logSecrets } from './secrets/store/open-keyring.ts';

export interface Service {
  readonly url: string;
  /** The address of the web console, unless it is disabled or not built. */
  readonly consoleUrl: string | undefined;
  /** The file of the first administrator token, if the service created this token at startup. */
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

/** Closes a part of the service. Work that is still in progress ends when `overdue` aborts. */
type Closer = (overdue: AbortSignal) => unknown;

/**
 * Opens the database, updates its schema, listens, and creates a first token if the database
 * contains no token. Throws `ServiceError` `unavailable` if the database cannot be used, and Node's
 * errors if the service cannot listen.
 */
export async function startService(
  config: Config,
  dependencies: ServiceDependencies,
): Promise<Service> {
  let current = config;
  const closers: Closer[] = [];
  /** Lets `part` close when the service stops, before the parts that have started earlier. */
  const closing = <P extends { close(): unknown }>(part: P): P => {
    closers.push(() => part.close());
    return part;
  };
  const stop = async () => {
    const overdue = new AbortController();
    const deadline = setTimeout(() => overdue.abort(), current.stopGraceSeconds * 1000);
    await closeAll(closers, overdue.signal).finally(() => clearTimeout(deadline));
  };
  try {
    const base = await openBase(config, dependencies);
    const { log, clock, database, report, secrets } = base;
    const store = closing(base.store);
    const encryption = closing(startEncryption(base));
    // A copy looks for connections after it has marked the database, so one of both sees the other.
    const again = dependencies.again === true;
    await assertServable(database, shownDatabase(config.database), again, clock());
    const audit = startAudit(base, () => current.audit);
    closing(audit.running);
    const delivery = createDelivery(base, audit);
    closers.push((overdue) => delivery.close(overdue));
    const beginDeliveryCounters = addNameServerGauges(base.metrics, store, delivery.status);
    const lasting = lastingDependencies(base, encryption, audit, delivery);
    const settingsOf = (next: Config) => liveSettings(next, lasting, dependencies.byteLimits);
    let settings = settingsOf(config);
    closing(startRotations(base, () => settings.dependencies));
    closing(startSessionCleanUp(base));
    const authentication = closing(startAuthentication(base));
    const server = openServer(base, settings, authentication);
    closers.push(async (overdue) => {
      overdue.addEventListener('abort', () => server.app.server.closeAllConnections());
      await delivery.endWaiting();
      await server.app.close();
      await handlersEnded(server.app, overdue);
    });
    const url = await startListening(base, server);
    // The token comes last, so that a service that fails to start creates no token and reports no
    // file.
    const tokenFile = await createToken(base, settings.dependencies);
    await warnAboutClearText(base);
    warnAboutKey(config.tls, log);
    logSecrets(process.stdout.isTTY ? { ...log, info: () => undefined } : log, secrets, report);
    await delivery.start(settings.dependencies);
    await beginDeliveryCounters();
    return {
      url,
      consoleUrl: server.hasConsole ? `${publicUrlOf(config) ?? url}/console/` : undefined,
      tokenFile,
      masterKeyFile: report.createdMasterKey === undefined ? undefined : secrets.file,
      change(next, certificate) {
        if (certificate !== undefined) changeCertificate(server.app.server, certificate);
        authentication.changeAdminToken(next.adminToken);
        current = next;
        settings = settingsOf(next);
        server.change(settings);
      },
      close: stop,
    };
  } catch (error) {
    // Throw the startup error, not an error from the cleanup.
    await stop().catch(() => undefined);
    throw error;
  }
}

/**
 * Calls `closers` one after another, from last to first. Continues after a failure, and throws the
 * first failure at the end.
 */
export async function closeAll(closers: readonly Closer[], overdue: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close(overdue);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
