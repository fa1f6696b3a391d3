import { createSecureContext } from 'node:tls';
import { ConfigError } from './config/config.ts';
import type { Config } from './config/options.ts';
import { planChange } from './config/reload.ts';
import type { Certificate } from './http/connection/node-server.ts';
import type { Log } from './http/request-log.ts';
import { describeFault } from './net/faults.ts';
import { readWholeFile } from './net/files.ts';

/**
 * The new configuration of a running service. The change contains the certificate, so that all
 * processes use the same certificate.
 */
export interface Change {
  readonly config: Config;
  readonly certificate: Certificate | undefined;
}

/**
 * Reads the configuration again, passes the changes that need no restart to `apply`, and returns
 * the effective configuration. Logs the keys of the applied settings, and of the settings that need
 * a restart. If the new configuration is not valid, logs all problems and changes nothing.
 */
export function reload(
  current: Config,
  readConfig: () => Config,
  apply: (change: Change) => void,
  log: Log,
): Config {
  try {
    const { config, applied, needsRestart } = planChange(current, readConfig());
    apply({ config, certificate: readCertificate(config.tls) });
    log.info({ applied }, 'SIGHUP received: reloaded the configuration');
    if (needsRestart.length > 0)
      log.warn({ settings: needsRestart }, 'Changed settings need a restart of the service');
    return config;
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [describeFault(error)];
    log.error(
      { problems },
      'SIGHUP received: the configuration is not valid. The service keeps the former configuration.',
    );
    return current;
  }
}

/**
 * Reads the certificate and its key once. Throws Node's errors if the certificate or the key cannot
 * be used.
 */
function readCertificate({ cert, key }: Config['tls']): Certificate | undefined {
  if (cert === undefined || key === undefined) return undefined;
  const certificate = {
    cert: readWholeFile(cert).toString(),
    key: readWholeFile(key).toString(),
  };
  createSecureContext(certificate);
  return certificate;
}
