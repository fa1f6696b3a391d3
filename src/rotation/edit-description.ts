import { isDeepStrictEqual } from 'node:util';
import { invalidObject, ServiceError } from '../core/errors.ts';
import { SERVICE } from '../core/audit-record.ts';
import { change, type ChangeContext, type Changes } from '../resources/operations/change.ts';
import { existing } from '../resources/operations/visibility.ts';
import { lifecycle, lineage, type Consumer, type Lifecycle } from '../resources/lineage.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import type { RotationDependencies } from './dependencies.ts';
import { settle, withoutMembers } from './advance.ts';
import { expiryOf, firstWarning } from '../resources/expiry.ts';
import { ownRow } from './rotate.ts';
import { NOTHING_KNOWN } from './clients.ts';
import { showLifecycle, type ShownLifecycle } from './lifecycle-response.ts';

/** What a caller says about a key. Members that are undefined stay as they are. */
export interface Description {
  readonly owner?: string | null | undefined;
  readonly purpose?: string | null | undefined;
  readonly consumers?: readonly Consumer[] | undefined;
  /** Of this key; the others are of its lineage. */
  readonly expires_at?: string | null | undefined;
}

/** Returns what people say about keys, and which keys these are, without what the service observes. */
export function describedState({ owner, purpose, consumers, keys }: ShownLifecycle): object {
  return { owner, purpose, consumers, keys: keys.map(({ id, expires_at: at }) => [id, at]) };
}

/**
 * Changes what is known about the use of a key. Rotations of its lineage go on with the consumers of
 * now. Throws `resource_not_found`, `invalid_object` for two consumers with one name, and
 * `precondition_failed` if the lifecycle is not in the state that the caller `expects`.
 */
export async function describeKey(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
  { expires_at: expiresAt, ...ofLineage }: Description,
  expects?: (state: object) => boolean,
): Promise<void> {
  const names = (ofLineage.consumers ?? []).map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined)
    throw invalidObject('lifecycle', [
      {
        path: ['consumers'],
        message: `'consumers' has the name '${repeated}' twice`,
        validator: 'uniqueItems',
      },
    ]);
  const running = await change(dependencies, context, async (changes) => {
    const found = await changes.getToChange(tsigkey, id);
    const key = await existing(changes, tsigkey, context.caller, found);
    const known = await changes.get(lifecycle, id);
    const now = changes.now();
    const row = await ownRow(changes, dependencies, key, known, now);
    const shown = async () => {
      const { settings } = dependencies;
      // What shows uses reads outside of the transaction.
      const own = { store: changes, clients: NOTHING_KNOWN, settings };
      return describedState(await showLifecycle(own, context.caller, id));
    };
    if (expects?.(await shown()) === false)
      throw new ServiceError('precondition_failed', undefined);
    const own = await changes.get(lineage, row.lineage_id);
    if (own === undefined) return [];
    const before: Record<string, unknown> = {};
    const after: Record<string, unknown> = {};
    const given = { ...ofLineage, expires_at: expiresAt };
    const current = { ...own, expires_at: row.expires_at };
    for (const name of ['owner', 'purpose', 'consumers', 'expires_at'] as const) {
      if (given[name] === undefined || isDeepStrictEqual(given[name], current[name])) continue;
      before[name] = current[name];
      after[name] = given[name];
    }
    await changes.put(lineage, { ...own, ...withoutMembers(after, 'expires_at'), updated_at: now });
    const changed = 'expires_at' in after ? { ...row, expires_at: expiresAt ?? null } : row;
    const expiry = expiryOf(key, changed, dependencies.settings.maxAgeDays);
    const warning = expiry === null ? null : firstWarning(expiry);
    const next = warning !== null && warning < now ? now : warning;
    const isMoved = row.state === 'active' && 'expires_at' in after;
    await changes.put(lifecycle, {
      ...changed,
      due_at: isMoved ? next : row.due_at,
      updated_at: now,
    });
    if (Object.keys(after).length > 0)
      changes.event({
        action: 'tsigkeys:update',
        type: tsigkey,
        id,
        name: key.name,
        detail: { handle: own.handle, before, after },
      });
    const rows = await changes.find(lifecycle, 'lineage', [own.id]);
    const { consumers } = ofLineage;
    if (consumers !== undefined) await forgetOthers(changes, rows, consumers);
    return rows.filter(({ successor_id: next, state }) => next !== null && state !== 'retired');
  });
  for (const row of running) await settle(dependencies, row.id);
}

/** Takes back the confirmations for what is no consumer any more. */
async function forgetOthers(
  { put }: Pick<Changes, 'put'>,
  rows: readonly Lifecycle[],
  consumers: readonly Consumer[],
): Promise<void> {
  for (const row of rows) {
    const confirmed = row.confirmed.filter((name) => consumers.some((each) => each.name === name));
    if (confirmed.length < row.confirmed.length) await put(lifecycle, { ...row, confirmed });
  }
}

/** Makes the service warn of a key before it is too old, unless it does already. Throws `unavailable`. */
export async function watchExpiry(dependencies: RotationDependencies, id: string): Promise<void> {
  await change(dependencies, SERVICE, async (changes) => {
    const key = await changes.getToChange(tsigkey, id);
    if (key === undefined) return;
    const known = await changes.get(lifecycle, id);
    if (known !== undefined && (known.state !== 'active' || known.due_at !== null)) return;
    const expiry = expiryOf(key, known, dependencies.settings.maxAgeDays);
    if (expiry === null) return;
    const now = changes.now();
    const row = await ownRow(changes, dependencies, key, known, now);
    const warning = firstWarning(expiry);
    await changes.put(lifecycle, {
      ...row,
      due_at: warning < now ? now : warning,
      updated_at: now,
    });
  });
}
