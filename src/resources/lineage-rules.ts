import { ServiceError } from '../core/errors.ts';
import type { Clock, Reader, Writer } from '../core/ports.ts';
import type { Change, Fields, ResourceOf, ResourceType } from '../core/resource.ts';
import { lifecycle, lineage, type Lifecycle } from './lineage.ts';
import type { tsigkey } from './tsigkey.ts';
import { comparisonForm } from '../core/text/dns-name.ts';

/** The members of a key that nothing replaces. */
export const NO_ROTATION = {
  state: 'active',
  successor_id: null,
  overlap_seconds: null,
  retire: null,
  started_at: null,
  verified_at: null,
  retire_at: null,
  confirmed: [],
  confirmed_all: false,
  waiting_reason: null,
  waiting_for: [],
  waiting_since: null,
  tripped_at: null,
  due_at: null,
} as const satisfies Partial<Lifecycle>;

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

/**
 * Takes a deleted key out of its lineage: its predecessors get its successor, or work on as if they
 * had never been replaced. A lineage without keys goes. Returns the id of its successor, or null.
 */
export async function leaveLineage(rows: Rows, id: string, clock: Clock): Promise<string | null> {
  const known = await rows.get(lifecycle, id);
  if (known === undefined) return null;
  await rows.getToChange(lineage, known.lineage_id);
  const row = await rows.get(lifecycle, id);
  if (row === undefined) return null;
  await relink(rows, row, clock());
  await leave(rows, row);
  return row.successor_id;
}

/** Removes the row of a key that is gone, and the lineage if it was the last. */
export async function leave(
  { find, drop }: Pick<Rows, 'find' | 'drop'>,
  { id, lineage_id: lineageId }: Pick<Lifecycle, 'id' | 'lineage_id'>,
): Promise<void> {
  await drop(lifecycle, id);
  if ((await find(lifecycle, 'lineage', [lineageId])).length === 0) await drop(lineage, lineageId);
}

/** Reads and changes rows that belong to keys. */
interface Rows extends Pick<Writer, 'get' | 'getToChange' | 'find'> {
  drop(type: ResourceType, id: string): Promise<unknown>;
  put<F extends Fields>(type: ResourceType<F>, row: ResourceOf<F>): Promise<void>;
}

/** Gives the predecessors of a key that is no longer accepted the successor of this key. */
export async function relink(
  { find, put }: Pick<Rows, 'find' | 'put'>,
  { id, state, successor_id: next }: Lifecycle,
  now: string,
): Promise<void> {
  for (const row of await find(lifecycle, 'successor', [id])) {
    const isRetired = row.state === 'retired';
    const again = { state: 'spreading', verified_at: null, retire_at: null, due_at: now } as const;
    const isKept = isRetired || (next !== null && state !== 'spreading');
    const restarted = next === null ? NO_ROTATION : { ...again, successor_id: next };
    const members = isKept ? { successor_id: next } : restarted;
    await put(lifecycle, { ...row, ...members, updated_at: now });
  }
}
