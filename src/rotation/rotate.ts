import { ServiceError, invalidObject } from '../core/errors.ts';
import type { Caller } from '../core/caller.ts';
import { keyed } from '../core/query.ts';
import { newMembers } from '../core/resource.ts';
import { readCreation } from '../resources/operations/body.ts';
import { change, type ChangeContext, type Changes } from '../resources/operations/change.ts';
import { existing, isVisible } from '../resources/operations/visibility.ts';
import { grantList } from '../resources/grants.ts';
import { ROTATE_RIGHT } from '../resources/limits.ts';
import { lifecycle, lineage, type Lifecycle, type RETIREMENTS } from '../resources/lineage.ts';
import { generateSecret, tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { grantsOfKey } from '../resources/grant-rules.ts';
import { NO_ROTATION } from './lineage-rows.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import type { RotationDependencies } from './dependencies.ts';
import { eventOf, settle } from './advance.ts';

export interface RotationRequest {
  readonly name?: string | undefined;
  readonly algorithm?: Tsigkey['algorithm'] | undefined;
  readonly secret?: string | undefined;
  readonly overlap_seconds?: number | undefined;
  readonly retire?: (typeof RETIREMENTS)[number] | undefined;
  readonly strategy: 'successor' | 'in_place';
  readonly compromised: boolean;
}

const SHORT_OVERLAP =
  'the overlap is shorter than a day, in which a client that is rarely active may not be seen';

/**
 * Replaces a key: creates a successor with the same scope and grants, or gives the key another
 * secret. Returns the successor, or the key. Throws `resource_not_found`, `rotation_state`,
 * `invalid_object`, and the errors of a creation and, if the key is compromised, of a deletion.
 */
export async function rotateKey(
  dependencies: RotationDependencies,
  context: ChangeContext,
  id: string,
  request: RotationRequest,
): Promise<Tsigkey> {
  const { settings, rotations, warn } = dependencies;
  const successorId = dependencies.newId();
  const overlap = request.overlap_seconds ?? settings.overlapSeconds;
  const { strategy, compromised } = request;
  assertFitting(request);
  const result = await change(
    dependencies,
    { ...context, right: ROTATE_RIGHT },
    async (changes) => {
      const found = await changes.getToChange(tsigkey, id);
      const key = await existing(changes, tsigkey, context.caller, found);
      if (strategy === 'in_place') return replaceSecret(changes, dependencies, key, request);
      const own = await changes.get(lifecycle, id);
      await assertRotatable(changes, context.caller, key, own);
      const now = changes.now();
      const successor = await createSuccessor(
        changes,
        dependencies,
        key,
        successorId,
        now,
        request,
      );
      const row = await ownRow(changes, dependencies, key, own, now);
      const next = row.position + 1;
      await changes.put(lifecycle, {
        ...row,
        state: 'spreading',
        successor_id: successor.id,
        overlap_seconds: overlap,
        retire: request.retire ?? null,
        started_at: now,
        due_at: now,
        updated_at: now,
      });
      await changes.put(lifecycle, newRow(successor.id, row.lineage_id, next, now));
      const { handle = key.name } = (await changes.get(lineage, row.lineage_id)) ?? {};
      const rotation = { key, successor, lineage: { handle } };
      changes.event(eventOf(rotation, 'started', compromised ? { compromised } : {}));
      if (compromised) {
        await changes.remove(tsigkey, key, compromised);
        changes.event(eventOf(rotation, 'retired', { compromised, restorable_until: null }));
      }
      return successor;
    },
  );
  if (strategy === 'successor' && !compromised && overlap * 1000 < rotations.windowMs) {
    warn({ type: tsigkey, id, requestId: context.requestId, message: SHORT_OVERLAP });
    context.warnings?.push(SHORT_OVERLAP);
  }
  if (strategy === 'successor' && !compromised) await settle(dependencies, id);
  return result;
}

/** Throws `invalid_object` for members that this kind of rotation would ignore. */
function assertFitting(request: RotationRequest): void {
  const isInPlace = request.strategy === 'in_place';
  if (!isInPlace && !request.compromised) return;
  const ofOverlap = ['overlap_seconds', 'retire'] as const;
  const unfit = isInPlace ? (['name', ...ofOverlap] as const) : ofOverlap;
  const reason = isInPlace
    ? 'the key keeps its name, and its former secret goes at once'
    : 'a compromised key goes at once';
  const problems = unfit
    .filter((name) => request[name] !== undefined)
    .map((name) => ({
      path: [name],
      message: `'${name}' must be left out, because ${reason}`,
      validator: 'not',
    }));
  if (problems.length > 0) throw invalidObject('rotation', problems);
}

async function replaceSecret(
  changes: Changes,
  { settings, randomBytes }: Pick<RotationDependencies, 'settings' | 'randomBytes'>,
  key: Tsigkey,
  { algorithm = key.algorithm, secret, compromised }: RotationRequest,
): Promise<Tsigkey> {
  const problems = tsigkey.problems?.({ algorithm, secret }, settings, key) ?? [];
  if (problems.length > 0) throw invalidObject(tsigkey.title, problems);
  const updated = await changes.update(tsigkey, key, {
    ...(algorithm === key.algorithm ? {} : { algorithm }),
    secret: secret ?? generateSecret(algorithm, randomBytes),
  });
  changes.event({
    action: 'tsigkey.rotation.started',
    type: tsigkey,
    id: key.id,
    name: key.name,
    detail: { strategy: 'in_place', ...(compromised ? { compromised } : {}) },
  });
  return updated;
}

/** Throws `rotation_state` for a key that is being replaced, or that replaces one just now. */
async function assertRotatable(
  changes: Changes,
  caller: Caller,
  { name }: Tsigkey,
  own: Lifecycle | undefined,
): Promise<void> {
  if (own === undefined) return;
  if (own.successor_id !== null) {
    const successor = await visibleKey(changes, caller, own.successor_id);
    throw new ServiceError(
      'rotation_state',
      successor === undefined
        ? `The key '${name}' already has a successor, which the token may not see`
        : `The key '${name}' already has the successor '${successor.name}' with the id ${successor.id}`,
    );
  }
  for (const { id, state } of await changes.find(lifecycle, 'successor', [own.id]))
    if (state === 'spreading' || state === 'switching') {
      const former = await visibleKey(changes, caller, id);
      throw new ServiceError(
        'rotation_state',
        former === undefined
          ? `The key '${name}' is replacing a key that the token may not see, and not all clients have it yet. Wait until that key is draining`
          : `The key '${name}' is replacing '${former.name}', and not all clients have it yet. Wait until that key is draining, or confirm '${former.name}' if they have it`,
      );
    }
}

async function visibleKey(
  changes: Changes,
  caller: Caller,
  id: string,
): Promise<Tsigkey | undefined> {
  const found = await changes.get(tsigkey, id);
  return found && (await isVisible(changes, tsigkey, caller, found)) ? found : undefined;
}

async function createSuccessor(
  changes: Changes,
  { settings }: Pick<RotationDependencies, 'settings'>,
  key: Tsigkey,
  id: string,
  now: string,
  { name, algorithm = key.algorithm, secret }: RotationRequest,
): Promise<Tsigkey> {
  const grants = await grantsOfKey(changes, key);
  const given = readCreation(
    tsigkey,
    {
      name: name ?? (await nextName(changes, key.name)),
      algorithm,
      ...(secret === undefined ? {} : { secret }),
      scope: key.scope,
      resource_id: key.resource_id,
      grants: grants && grantList(grants),
    },
    settings,
  );
  const draft = { ...given, ...newMembers(tsigkey, id, now) };
  return (await changes.create(tsigkey, keyed(tsigkey, draft))).resource;
}

const MAX_LABEL_OCTETS = 63;
const MAX_NAME_CHARACTERS = 255;

/** The most names that a rotation tries. */
const MAX_TRIES = 100;

/**
 * Returns the name of the next key: with `-r2`, `-r3` and so on after the first label. Throws
 * `invalid_object` if the label would be too long, or if all these names are taken.
 */
async function nextName(changes: Changes, name: string): Promise<string> {
  const dot = name.indexOf('.');
  const [label, rest] = dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot)];
  const [, base = label, number = '1'] = /^(.+)-r([1-9]\d{0,5})$/.exec(label) ?? [];
  for (let next = Number(number) + 1; next <= Number(number) + MAX_TRIES; next += 1) {
    const first = `${base}-r${next}`;
    const candidate = first + rest;
    if (Buffer.byteLength(first) > MAX_LABEL_OCTETS || candidate.length > MAX_NAME_CHARACTERS)
      throw noName(`'${first}' would be longer than ${MAX_LABEL_OCTETS} octets`);
    const form = comparisonForm(candidate);
    const taken = await changes.present(tsigkey, 'name', [form]);
    if (taken.size === 0 && (await changes.reservation(form)) === undefined) return candidate;
  }
  throw noName('the next names are taken');
}

function noName(reason: string): ServiceError {
  const message = `'name' is missing, and ${reason}. State the name of the successor`;
  return invalidObject('rotation', [{ path: ['name'], message, validator: 'required' }]);
}

/** Returns the row of a key in its lineage, and begins a lineage for a key without one. */
export async function ownRow(
  changes: Changes,
  { newId }: Pick<RotationDependencies, 'newId'>,
  { id, name }: Tsigkey,
  own: Lifecycle | undefined,
  now: string,
): Promise<Lifecycle> {
  if (own !== undefined) {
    await changes.getToChange(lineage, own.lineage_id);
    return own;
  }
  const lineageId = newId();
  await changes.put(lineage, {
    ...newMembers(lineage, lineageId, now),
    handle: name,
    owner: null,
    purpose: null,
    consumers: [],
  });
  return newRow(id, lineageId, 1, now);
}

function newRow(id: string, lineageId: string, position: number, now: string): Lifecycle {
  return {
    ...newMembers(lifecycle, id, now),
    ...NO_ROTATION,
    lineage_id: lineageId,
    position,
    expires_at: null,
  };
}
