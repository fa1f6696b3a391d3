import type { Config } from './config/options.ts';
import type { AllDependencies } from './actions.ts';
import { DEFAULT_POLICY } from './resources/policy.ts';
import type { LiveSettings } from './http/live-settings.ts';
import type { RateLimit } from './http/request/rate-limit.ts';

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

/** The dependencies of operations that stay the same while the service runs. */
export type LastingDependencies = Omit<AllDependencies, 'policy' | 'settings'>;

export function liveSettings(
  config: Config,
  lasting: LastingDependencies,
  { maxPageBytes = BYTE_LIMITS.maxPageBytes }: Partial<typeof BYTE_LIMITS> = {},
): LiveSettings<AllDependencies> {
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
 * Returns the status of a response to a caller who lacks a right. With Keystone alone, the default
 * is 403, because Keystone clients sign in again after 401. Otherwise, the default is 401, as
 * Designate's API description specifies.
 */
export function insufficientRightsStatus({
  insufficientRightsStatus: status,
  method,
}: Config['auth']): 401 | 403 {
  return status ?? (method.includes('tokens') ? 401 : 403);
}
