import type { Config } from './config/options.ts';
import type { ActionDependencies } from './domain/actions/action.ts';
import { DEFAULT_POLICY } from './domain/resources/policy.ts';
import type { LiveSettings } from './http/live-settings.ts';

/** The dependencies of operations that stay the same while the service runs. */
export type LastingDependencies = Omit<ActionDependencies, 'policy' | 'settings'>;

/** Returns the settings of the HTTP server that may change while the server runs. */
export function liveSettings(config: Config, lasting: LastingDependencies): LiveSettings {
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
        maxPageBytes: config.api.maxPageBytes,
      },
    },
    rateLimit: config.rateLimit,
    addressRateLimit: {
      requestsPerSecond: config.rateLimit.anonymousRequestsPerSecond,
      burst: config.rateLimit.anonymousBurst,
    },
    allowedOrigins: config.cors.allowedOrigins,
    metricsAccess: { ...config.metrics, trustProxyHeaders: config.api.trustProxyHeaders },
  };
}
