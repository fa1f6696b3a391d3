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
  /** What `apply` returned for a configuration that is not ready, or the error that it threw. */
  readonly result: Applied | DriverError;
  readonly hash: string;
  /** The state of the configuration files. Undefined if this process cannot read them. */
  readonly files: string | undefined;
  readonly at: number;
}

const refusals = new WeakMap<Driver, Refusal>();

/**
 * Applies a state with `apply`. A retry after a refusal throws the same error again, and one for a
 * configuration that is not ready returns the same, without a request to the name server, while
 * nothing indicates that an operator has edited the configuration. Each request would fill the log
 * of the name server.
 */
export async function applyUnlessRefused(
  driver: Driver,
  state: DesiredState,
  isRetry: boolean,
  apply: () => Promise<Applied>,
): Promise<Applied> {
  const former = isRetry ? refusals.get(driver) : undefined;
  if (former !== undefined && (await isStillRefused(former, driver, state))) {
    const { result } = former;
    if (result instanceof DriverError) throw result;
    return { ...result, changed: false };
  }
  refusals.delete(driver);
  // Read before, because the operator may edit the files meanwhile.
  const files = await driver.configuration?.();
  const remember = (result: Refusal['result']) => {
    refusals.set(driver, { result, hash: hashOf(state), files, at: performance.now() });
  };
  try {
    const applied = await apply();
    if (applied.prepared !== undefined) remember(applied);
    return applied;
  } catch (error) {
    if (error instanceof DriverError && CONFIGURATION_FAULTS.includes(error.code)) remember(error);
    throw error;
  }
}

async function isStillRefused(
  { result, hash, files, at }: Refusal,
  driver: Driver,
  state: DesiredState,
): Promise<boolean> {
  const present = await driver.configuration?.();
  if (present !== files) return false;
  const isUnchanged = present !== undefined && hash === hashOf(state);
  if (!isUnchanged && !(result instanceof DriverError)) return false;
  return performance.now() - at < (isUnchanged ? UNCHANGED_MS : UNKNOWN_MS);
}
