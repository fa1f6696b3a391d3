import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { describeFault } from '../net/faults.ts';
import { READABLE_BY_ALL, readWholeFile } from '../net/files.ts';
import { ConfigError, freeze } from './config.ts';
import { valuesOf, type Option } from './option.ts';
import { TABLE, valueAt, type Config } from './options.ts';

/** Contains the certificate, so that all processes use the same certificate. */
export interface Change {
  readonly config: Config;
  /** The certificate and its key, in PEM format. */
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
}

type Log = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;

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
    const certificate = readCertificate(config.tls);
    apply({ config, certificate });
    log.info(
      { applied, ...(certificate && { certificate: describeCertificate(certificate.cert) }) },
      'SIGHUP received: reloaded the configuration',
    );
    warnAboutKey(config.tls, log);
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

/** Throws Node's errors if the certificate or the key cannot be used. */
function readCertificate({ cert, key }: Config['tls']): Change['certificate'] {
  if (cert === undefined || key === undefined) return undefined;
  const certificate = {
    cert: readWholeFile(cert).toString(),
    key: readWholeFile(key).toString(),
  };
  createSecureContext(certificate);
  return certificate;
}

/** Returns the fields by which operators recognise the first certificate of a chain. */
function describeCertificate(cert: string): Readonly<Record<string, string>> {
  const { subject, fingerprint256, validTo } = new X509Certificate(cert);
  return {
    subject: subject.replaceAll('\n', ', '),
    fingerprint: `SHA256:${fingerprint256.replaceAll(':', '').toLowerCase()}`,
    expires: new Date(validTo).toISOString(),
  };
}

export function warnAboutKey({ key }: Config['tls'], log: Pick<Log, 'warn'>): void {
  if (key === undefined || (statSync(key).mode & READABLE_BY_ALL) === 0) return;
  log.warn(
    { file: key },
    `Every user of this machine can read the key of the certificate. Run: chmod o= '${key}'`,
  );
}

/**
 * Returns the effect of `next` on a service that runs with `current`: the new configuration, in
 * which settings that need a restart keep their former values, and the keys of changed settings.
 */
function planChange(current: Config, next: Config) {
  const applied: string[] = [];
  const needsRestart: string[] = [];
  const config = valuesOf(TABLE, <T>(option: Option<T>): T => {
    const valueIn = (config: Config) => valueAt(config, option.key) as T;
    const [before, after] = [valueIn(current), valueIn(next)];
    if (JSON.stringify(before) === JSON.stringify(after)) return before;
    const isApplied = isReloadable(option, before, after);
    (isApplied ? applied : needsRestart).push(option.key);
    return isApplied ? after : before;
  });
  freeze(config);
  return { config, applied, needsRestart };
}

function isReloadable({ reload }: Option, before: unknown, after: unknown): boolean {
  return (
    reload === 'yes' || (reload === 'while set' && before !== undefined && after !== undefined)
  );
}
