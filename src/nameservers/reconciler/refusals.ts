import type { DesiredState } from '../../domain/delivery/desired-state.ts';
import { hashOf } from '../../domain/delivery/desire.ts';
import { DriverError, type Applied, type Driver } from '../driver.ts';

/** The codes of faults in the configuration of a name server, which its operator must repair. */
export const CONFIGURATION_FAULTS: readonly string[] = ['refused_by_server', 'not_included'];

/**
 * How long a name server is not asked again after it refused its configuration: while no file of
 * the configuration changes, and if this process cannot read the files, or the keys changed.
 */
const [UNCHANGED_MS, UNKNOWN_MS] = [60_000, 15_000];

interface Refusal {
  readonly error: DriverError;
  readonly hash: string;
  /** The state of the configuration files. Undefined if this process cannot read them. */
  readonly files: string | undefined;
  readonly at: number;
}

const refusals = new WeakMap<Driver, Refusal>();

/**
 * Applies a state with `apply`. A retry after a refusal throws the same error again, without a
 * request to the name server, while nothing indicates that an operator has repaired the
 * configuration. Each request would fill the log of the name server.
 */
export async function applyUnlessRefused(
  driver: Driver,
  state: DesiredState,
  isRetry: boolean,
  apply: () => Promise<Applied>,
): Promise<Applied> {
  const former = isRetry ? refusals.get(driver) : undefined;
  if (former !== undefined && (await isStillRefused(former, driver, state))) throw former.error;
  refusals.delete(driver);
  try {
    return await apply();
  } catch (error) {
    if (error instanceof DriverError && CONFIGURATION_FAULTS.includes(error.code))
      refusals.set(driver, {
        error,
        hash: hashOf(state),
        files: await driver.configuration?.(),
        at: performance.now(),
      });
    throw error;
  }
}

async function isStillRefused(
  { hash, files, at }: Refusal,
  driver: Driver,
  state: DesiredState,
): Promise<boolean> {
  const present = await driver.configuration?.();
  if (present !== files) return false;
  const isUnchanged = present !== undefined && hash === hashOf(state);
  return performance.now() - at < (isUnchanged ? UNCHANGED_MS : UNKNOWN_MS);
}
