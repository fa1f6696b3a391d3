import { DEFAULT_POOL_ID } from '../../domain/resources/pool.ts';
import type { AlgorithmName } from '../../domain/dns/algorithms.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

/** The algorithm of a new key if the flags contain none. */
export const DEFAULT_ALGORITHM: AlgorithmName = 'hmac-sha256';

/**
 * Returns the members of a new key with defaults. Without a pool or a zone, the key applies to the
 * default pool. Throws `CommandError` if the scope is ZONE and the zone is missing.
 */
export function completeKey(
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { scope = 'POOL', resource_id: id } = members;
  if (scope === 'ZONE' && id === undefined)
    throw new CommandError(
      EXIT.usage,
      'The zone is missing: a key with scope ZONE applies to one zone',
      'Add --zone with the name of the zone, or --resource-id.',
    );
  return { algorithm: DEFAULT_ALGORITHM, ...members, scope, resource_id: id ?? DEFAULT_POOL_ID };
}
