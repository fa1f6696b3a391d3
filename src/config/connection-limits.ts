import { readFileSync } from 'node:fs';
import type { Config } from './options.ts';

/**
 * Open files that are not for connections from callers: 27 for Node.js, the log and SQLite, and a
 * reserve.
 */
const RESERVED_FILES = 40;

/** The most connections to Keystone. */
const KEYSTONE_CONNECTIONS = 32;

/** The limits of connections in force. */
export interface EffectiveLimits {
  readonly maxConnections: number;
  /** Undefined where addresses may be those of proxies, each of which serves many callers. */
  readonly maxConnectionsPerAddress: number | undefined;
  /**
   * The limit of open files, if it allows fewer connections than the configuration; otherwise
   * undefined.
   */
  readonly openFiles: number | undefined;
}

/**
 * Returns the limits of connections. `openFiles` is the process's limit of open files, undefined if
 * not known. `isShared` states whether the database is one that needs connections, which are open
 * files too.
 */
export function connectionLimits(
  config: Config,
  isShared: boolean,
  openFiles: number | undefined,
): EffectiveLimits {
  const { maxConnections, maxConnectionsPerAddress, trustProxyHeaders } = config.api;
  const database = isShared ? config.databasePool.maxConnections : 0;
  const keystone = config.auth.method.includes('keystone') ? KEYSTONE_CONNECTIONS : 0;
  const possible =
    openFiles === undefined
      ? Infinity
      : Math.max(1, openFiles - RESERVED_FILES - database - keystone);
  const effective = Math.min(maxConnections, possible);
  return {
    maxConnections: effective,
    maxConnectionsPerAddress: trustProxyHeaders
      ? undefined
      : Math.max(1, Math.min(maxConnectionsPerAddress, Math.floor(effective / 2))),
    openFiles: possible < maxConnections ? openFiles : undefined,
  };
}

/**
 * Returns how many files this process may have open. Returns undefined if the system does not
 * report it or sets no limit.
 */
export function readOpenFilesLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
