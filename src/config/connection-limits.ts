import { readFileSync } from 'node:fs';
import type { Config } from './options.ts';

/**
 * The number of open files that are not connections from callers. Node.js, the log and SQLite need
 * 27 files; the rest is a reserve.
 */
const RESERVED_FILES = 40;

const KEYSTONE_CONNECTIONS = 32;

interface EffectiveLimits {
  readonly maxConnections: number;
  /** Undefined if the service trusts a proxy, because many callers share the address of a proxy. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** The limit of open files, if it allows fewer connections than the configuration. */
  readonly openFiles: number | undefined;
}

/**
 * `openFiles` is the process's limit of open files, or undefined if unknown. If `isShared`, the
 * connections to the database count as open files too.
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

/** Returns undefined if the system reports no limit. */
export function readOpenFilesLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
