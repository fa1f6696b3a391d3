import { ServiceError, invalidObject } from '../core/errors.ts';
import { change, type ChangeContext, type Changes } from '../resources/operations/change.ts';
import { existing } from '../resources/operations/visibility.ts';
import { grantsIn } from '../resources/grants.ts';
import { ABORT_RIGHT, CONFIRM_RIGHT, RESTORE_RIGHT, RETIRE_RIGHT } from '../resources/limits.ts';
import { lifecycle, lineage, retiredKey, type Lifecycle } from '../resources/lineage.ts';
import { SCOPES, tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { grantsInScope } from '../resources/grant-rules.ts';
import { NO_ROTATION } from './lineage-rows.ts';
import { isOrphaned } from '../resources/tsigkey-rules.ts';
import type { RotationDependencies } from './dependencies.ts';
import { changeRow, readRotation, retireNow, settle } from './advance.ts';
import { factsOf, type Rotation } from './facts.ts';
import { asKey } from './lifecycle-response.ts';
import { retirementObstacle, switchingObstacle, type RotationFacts } from './step.ts';

/** The most times that a step is tried while another process changes the same rotation. */
const MAX_TRIES = 10;

type Work = (changes: Changes, rotation: Rotation) => Promise<void>;

/**
 * Changes the rotation of a key after a look at what is known of it. `check` may throw to refuse the
 * step. Throws `resource_not_found`, and `rotation_state` for a key without successor.
 */
async function takeStep(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
  { check, work }: { check(rotation: Rotation, facts: RotationFacts): void; work: Work },
): Promise<void> {
  const { store } = dependencies;
  for (let count = 0; count < MAX_TRIES; count += 1) {
    const found = await store.get(tsigkey, id);
    const key = await existing(store, tsigkey, context.caller, found);
    const row = await store.get(lifecycle, id);
    if (row?.successor_id == null) throw withoutSuccessor(key);
    const rotation = await readRotation(dependencies, row);
    if (rotation === undefined) continue;
    // Both keys must be within the limits of the caller.
    await existing(store, tsigkey, context.caller, rotation.successor);
    check(rotation, await factsOf(dependencies, rotation));
    if (await changeRow(dependencies, context, row, (changes) => work(changes, rotation))) return;
  }
  throw new ServiceError('rotation_state', 'The rotation is changing. Repeat the request');
}

function withoutSuccessor({ name }: Pick<Tsigkey, 'name'>): ServiceError {
  return new ServiceError(
    'rotation_state',
    `The key '${name}' has no successor. Rotate it first, or delete it to cut all its clients off`,
  );
}

/**
 * Retires a key now, without waiting for its time. Unless `force` is set, refuses while a client or a
 * configuration still needs the key. Returns the id of the successor. Throws `resource_not_found` and `rotation_state`.
 */
export async function retireKey(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
): Promise<string> {
  const { limits } = context.caller;
  let successorId = '';
  await takeStep(dependencies, { ...context, right: RETIRE_RIGHT }, id, {
    check({ row, key, successor }, facts) {
      if (context.force === true) return;
      const obstacle =
        facts.unverifiedServers.length > 0
          ? (['not_verified', facts.unverifiedServers] as const)
          : (switchingObstacle(row, facts) ?? retirementObstacle(facts));
      if (obstacle === undefined) return;
      const [reason, who] = obstacle;
      const named =
        who.length === 0 || limits !== undefined ? '' : `: ${who.slice(0, 3).join(', ')}`;
      const force = "To retire it nevertheless, use the header 'Tsigil-Force: true'";
      throw new ServiceError(
        'rotation_state',
        `The key '${key.name}' cannot be retired yet: ${OBSTACLES[reason](successor.name)}${named}. ${force}`,
      );
    },
    work(changes, rotation) {
      successorId = rotation.successor.id;
      return retireNow(changes, dependencies, rotation);
    },
  });
  return successorId;
}

const OBSTACLES = {
  not_verified: (successor: string) => `not every name server accepts '${successor}'`,
  unconfirmed: (successor: string) => `not all clients were seen with '${successor}'`,
  unknown_consumers: () =>
    'it is not known whether all clients have moved. If they have, confirm it first',
  in_use: () => 'clients have used it within a day',
  referenced: () => 'the configuration of a name server names it',
  manual: () => '',
};

/**
 * Withdraws the successor of a key. Unless `force` is set, refuses if a client may use the successor
 * already. Throws `resource_not_found`, `rotation_state`, and the errors of a deletion.
 */
export async function abortRotation(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
): Promise<void> {
  await takeStep(dependencies, { ...context, right: ABORT_RIGHT }, id, {
    check({ row, key, successor }, { successorUsers }) {
      // While the successor spreads, nobody is told to use it.
      const isNew = successorUsers === null && row.state === 'spreading';
      if (context.force === true || isNew || successorUsers?.length === 0) return;
      const reason =
        successorUsers === null
          ? 'clients may use its successor already, and not every name server shows who does'
          : `clients use its successor '${successor.name}' already`;
      throw new ServiceError(
        'rotation_state',
        `The rotation of '${key.name}' cannot be withdrawn: ${reason}. To withdraw it nevertheless, use the header 'Tsigil-Force: true'`,
      );
    },
    work: async (changes, { key, successor }) => {
      const own = await changes.get(lifecycle, successor.id);
      if (own !== undefined && own.successor_id !== null)
        throw new ServiceError(
          'rotation_state',
          `The rotation of '${key.name}' cannot be withdrawn: its successor '${successor.name}' has a successor already. Withdraw that one first`,
        );
      const found = await changes.getToChange(tsigkey, successor.id);
      if (found !== undefined) await changes.remove(tsigkey, found);
    },
  });
}

/**
 * Confirms that consumers, or all clients, use the successor of a key. Throws `resource_not_found`,
 * `rotation_state`, and `invalid_object` for a name that is no consumer of the lineage.
 */
export async function confirmRotation(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
  consumers: readonly string[] | undefined,
): Promise<void> {
  await takeStep(dependencies, { ...context, right: CONFIRM_RIGHT }, id, {
    check({ lineage: own }) {
      const known = own.consumers.map(({ name }) => name);
      const problems = (consumers ?? []).flatMap((name, index) =>
        known.includes(name)
          ? []
          : [
              {
                path: ['consumers', index],
                message: `'consumers' has the unknown name '${name}'. Use one of: ${known.join(', ') || '(the lineage names no consumers)'}`,
                validator: 'enum',
              },
            ],
      );
      if (problems.length > 0) throw invalidObject('confirmation', problems);
    },
    async work(changes, { row, key, lineage: { handle } }) {
      const now = changes.now();
      const confirmed = [...new Set([...row.confirmed, ...(consumers ?? [])])];
      await changes.put(lifecycle, {
        ...row,
        confirmed,
        confirmed_all: row.confirmed_all || consumers === undefined,
        due_at: now,
        updated_at: now,
      });
      changes.event({
        action: CONFIRM_RIGHT,
        type: tsigkey,
        id: key.id,
        name: key.name,
        detail: { handle, consumers: consumers ?? 'all' },
      });
    },
  });
  await settle(dependencies, id);
}

/**
 * Makes a retired key valid again. Its rotation goes on as if its clients had just begun to move.
 * Throws `resource_not_found`, `rotation_state` for a key that is not retired, and `invalid_tsigkey`.
 */
export async function restoreKey(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
): Promise<void> {
  const { settings } = dependencies;
  const { caller } = context;
  await change(dependencies, { ...context, right: RESTORE_RIGHT }, async (changes) => {
    const known = await changes.get(lifecycle, id);
    if (known !== undefined) await changes.getToChange(lineage, known.lineage_id);
    const found = await changes.getToChange(retiredKey, id);
    const row = await changes.get(lifecycle, id);
    const isKept = found !== undefined && found.purge_at > changes.now();
    if (!isKept || row === undefined) {
      const living = await changes.get(tsigkey, id);
      const { name } = await existing(changes, tsigkey, caller, living);
      throw new ServiceError('rotation_state', `The key '${name}' is not retired`);
    }
    const former = await existing(changes, tsigkey, caller, asKey(found));
    const orphaned = await isOrphaned(former, changes);
    if (settings.requireResource && orphaned)
      throw new ServiceError('invalid_tsigkey', {
        id: former.resource_id,
        noun: SCOPES[former.scope].noun,
        scope: former.scope,
      });
    const stated = found.grants === null ? null : grantsIn(found.grants);
    const grants = await grantsInScope(former, stated, changes);
    const granted = grants && grants.all;
    const key = { ...former, granted, orphaned, version: former.version + 1 };
    await changes.drop(retiredKey, id);
    await changes.restore(key, grants?.zones ?? new Map());
    await changes.put(lifecycle, restoredRow(row, changes.now()));
  });
  await settle(dependencies, id);
}

function restoredRow(row: Lifecycle, now: string): Lifecycle {
  const again = { ...row, updated_at: now, tripped_at: null };
  if (row.successor_id === null) return { ...again, ...NO_ROTATION };
  // Somebody needed the key, so what was known of its clients was wrong.
  return {
    ...again,
    state: 'switching',
    retire: row.retire === 'manual' ? 'manual' : null,
    confirmed: [],
    confirmed_all: false,
    retire_at: null,
    due_at: now,
  };
}
