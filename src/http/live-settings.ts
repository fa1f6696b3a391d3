import type { ActionDependencies } from '../resources/operations/action.ts';
import { createMetricsCheck, type MetricsAccess } from './operator-routes.ts';
import type { RequestSettings } from './request/guard.ts';
import { createAddressLimit, createRateLimiter, type RateLimit } from './request/rate-limit.ts';

export interface LiveSettings<D extends ActionDependencies = ActionDependencies> {
  readonly dependencies: D;
  readonly rateLimit: RateLimit;
  readonly addressRateLimit: RateLimit;
  readonly allowedOrigins: readonly string[];
  readonly metricsAccess: MetricsAccess;
}

interface CurrentSettings {
  current(): RequestSettings;
  change(next: LiveSettings): void;
}

/**
 * Creates the current settings from `initial`. A change resets only the limits whose rate or burst
 * differs, so that no caller gets an extra burst. `seconds` is a monotonic clock.
 */
export function createSettings(initial: LiveSettings, seconds: () => number): CurrentSettings {
  let settings = initial;
  const read = (next: LiveSettings, former?: RequestSettings): RequestSettings => ({
    dependencies: next.dependencies,
    allowedOrigins: next.allowedOrigins,
    limitRate:
      former !== undefined && isSame(next.rateLimit, settings.rateLimit)
        ? former.limitRate
        : createRateLimiter(next.rateLimit, seconds),
    addressLimit:
      former !== undefined && isSame(next.addressRateLimit, settings.addressRateLimit)
        ? former.addressLimit
        : createAddressLimit(next.addressRateLimit, seconds),
    checkMetrics: createMetricsCheck(next.metricsAccess),
  });
  let current = read(initial);
  return {
    current: () => current,
    change(next) {
      current = read(next, current);
      settings = next;
    },
  };
}

function isSame(one: RateLimit, other: RateLimit): boolean {
  return one.requestsPerSecond === other.requestsPerSecond && one.burst === other.burst;
}
