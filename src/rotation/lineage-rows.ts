import type { Clock } from '../core/ports.ts';
import { lifecycle, lineage, type Lifecycle } from '../resources/lineage.ts';
import type { Rows } from '../resources/operations/change.ts';

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
