import { ServiceError } from '../core/errors.ts';
import type { Reader } from '../core/ports.ts';
import type { Change } from '../core/resource.ts';
import { lifecycle, lineage } from './lineage.ts';
import type { tsigkey } from './tsigkey.ts';
import { comparisonForm } from '../core/text/dns-name.ts';

/**
 * Checks that a key does not get the handle of another lineage, nor the name of a retired key that can
 * be restored. Throws `reserved_name`.
 */
export async function assertNotReserved(
  change: Change<(typeof tsigkey)['fields']>,
  transaction: Pick<Reader, 'reservation' | 'get'>,
): Promise<void> {
  const { operation, resource, uniqueForm } = change;
  if (operation === 'delete') return;
  if (operation === 'update') {
    const { name } = change.current;
    if (name === resource.name || comparisonForm(name) === uniqueForm) return;
  }
  const kind = await transaction.reservation(uniqueForm);
  if (kind === 'handle' && operation === 'update') {
    const own = await transaction.get(lifecycle, resource.id);
    const { handle } = (own && (await transaction.get(lineage, own.lineage_id))) ?? {};
    if (handle !== undefined && comparisonForm(handle) === uniqueForm) return;
  }
  if (kind !== undefined) throw new ServiceError('reserved_name', { name: resource.name, kind });
}
