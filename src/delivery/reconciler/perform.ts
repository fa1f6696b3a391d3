import { MAX_MESSAGE, MAX_UNKNOWN, type Answer, type Job } from '../agent-protocol.ts';
import { idsOf, type DesiredKey, type DesiredState } from '../../brands/desired-state.ts';
import { LeaseLostError } from '../delivery-ports.ts';
import type { Fault } from '../../core/fault.ts';
import type { Applied, Difference, Driver, KeyProblem } from '../../brands/driver.ts';
import { NO_LOG, type FollowedKeys, type LogReader } from '../log-protocol.ts';
import type { KeyPlan, RemovedKey } from './expectations.ts';
import { failureOf } from './failures.ts';
import { redactor } from './redaction.ts';
import { verifySlowly, type Verdict, type Verify } from './verification.ts';

export interface PerformDependencies {
  readonly driver: Driver;
  readonly verify: Verify;
  /** The keys that this process applied last, with their secrets, by id. */
  readonly memory: Map<string, DesiredKey>;
  readonly logReader?: LogReader | undefined;
  /**
   * Called before the first change, with the keys that the driver does not leave out. Throws
   * `LeaseLostError`.
   */
  begin(keys: readonly DesiredKey[], carried: string | undefined): Promise<void>;
  /** Returns whether a change waits. The scheduled verification then ends early. */
  isInterrupted(): Promise<boolean>;
  readonly signal: AbortSignal;
}

/** The answer of a pass, without the members that only agents send. */
export type Result = Omit<Answer, 'agent' | 'fence' | 'duration_ms'>;

export type FullJob = Job & { readonly state: NonNullable<Job['state']> };

/**
 * Makes one pass: compares, applies and verifies. The answer contains no secret of the job, nor of
 * the last one. Throws only `LeaseLostError`.
 */
export async function performPass(
  job: FullJob,
  dependencies: PerformDependencies,
): Promise<Result> {
  const { memory, logReader } = dependencies;
  logReader?.follow(keysIn(job), job.evidence, job.log_position);
  const begun: Begun = {};
  const secrets = [...job.state.keys, ...(job.withheld?.keys ?? []), ...memory.values()];
  try {
    const result = await attempt(job, dependencies, begun);
    remember(job, memory);
    return await withoutSecrets({ ...result, ...logReader?.take() }, secrets);
  } catch (error) {
    if (error instanceof LeaseLostError) throw error;
    const owned = new Set(job.owned);
    const begunIds = new Set(begun.keys?.map(({ id }) => id));
    const isNotBegun = ({ id, name }: DesiredKey) => !owned.has(name) && !begunIds.has(id);
    const notBegun = job.state.keys.filter(isNotBegun).map(({ id }) => id);
    const failed = { ...failedPass(failureOf(error)), ...logReader?.take() };
    const stamp = begun.stamp ?? null;
    return withoutSecrets({ ...failed, stamp, not_begun: notBegun }, secrets);
  }
}

/** The maximum length of a file and a line. */
const MAX_PLACE = 4200;

const NOTHING: Result = {
  error: null,
  not_begun: [],
  stamp: null,
  is_foreign: false,
  changed: false,
  prepared: null,
  found_drift: false,
  problems: [],
  differences: [],
  verified: 0,
  verdicts: [],
  open: null,
  unknown_keys: null,
  key_references: null,
  ...NO_LOG,
};

/** Returns all keys that the name server has, should have or had, from Tsigil. */
function keysIn({ state, withheld, owned, retired }: FullJob): FollowedKeys {
  const names = [...owned, ...retired];
  const kept = [...state.kept, ...(withheld?.kept ?? [])].map(({ name }) => name);
  const keys = [...state.keys, ...(withheld?.keys ?? [])];
  return new Map<string, DesiredKey | null>([
    ...[...names, ...kept].map((name) => [name, null] as const),
    ...keys.map((key) => [key.name, key] as const),
  ]);
}

/** Returns the result of a pass that failed before it changed anything. */
export function failedPass(error: Fault): Result {
  return { ...NOTHING, error };
}

/** The state that a pass delivers, and the names of the keys that it may change or remove. */
export function partOf({ state, stamps, withheld, owned, refused }: FullJob): {
  readonly state: DesiredState;
  readonly ownNames: ReadonlySet<string>;
} {
  const part = { ...state, stamps, isHeld: withheld !== null, removals: refused };
  if (withheld === null) return { state: part, ownNames: new Set(owned) };
  const touched = new Set([...state.keys, ...state.kept, ...refused].map(({ name }) => name));
  return { state: part, ownNames: new Set(owned.filter((name) => touched.has(name))) };
}

/** The whole state, in which nothing is withheld. */
function wholeOf({ state, stamps, withheld, refused }: FullJob): Required<DesiredState> {
  const part = { ...state, stamps, isHeld: false, removals: refused };
  if (withheld === null) return part;
  const { keys, kept } = withheld;
  return { ...part, keys: [...state.keys, ...keys], kept: [...state.kept, ...kept] };
}

/** What a pass has begun to change, even if it fails. */
interface Begun {
  keys?: readonly DesiredKey[];
  /** The stamp that the name server had. */
  stamp?: string | undefined;
}

async function attempt(
  job: FullJob,
  dependencies: PerformDependencies,
  begun: Begun,
): Promise<Result> {
  const { driver, memory, signal } = dependencies;
  const carried = await driver.stamp(signal);
  begun.stamp = carried;
  const isForeign = carried !== undefined && !job.stamps.includes(carried);
  if (isForeign) {
    // Another or a newer database delivered the keys last.
    const differences = await compareWhole(job, dependencies);
    if (differences.some(({ key }) => key !== null))
      return {
        ...NOTHING,
        stamp: carried,
        is_foreign: true,
        differences,
        unknown_keys: await unknownKeys(job, dependencies),
        key_references: await keyReferences(job, dependencies, job.taken, false),
      };
  }
  // A removed key is verified with its secret. The name server may have another one of a held key.
  for (const key of job.state.keys) if (!memory.has(key.id)) memory.set(key.id, key);
  for (const { id } of job.withheld?.keys ?? []) memory.delete(id);
  const applied = await applyState(job, dependencies, begun, isForeign);
  const { changed, problems, prepared } = applied;
  const plan = verifyPlanOf(job, applied, memory);
  const verdict = await verifyPlan(job, dependencies, plan, prepared !== undefined);
  return {
    ...NOTHING,
    changed,
    prepared: prepared ?? null,
    found_drift: applied.foundDrift,
    problems: [...problems],
    verified: verdict.verified ?? plan.acceptedKeys.length,
    verdicts: [...verdict.failures].map(([id, error]) => ({ id, error })),
    open: (prepared === undefined ? verdict.open : undefined) ?? null,
    unknown_keys: changed && !job.is_held ? null : await unknownKeys(job, dependencies),
    stamp: (begun.keys === undefined ? carried : await driver.stamp(signal)) ?? null,
    differences: job.is_held ? await compareWhole(job, dependencies) : [],
    key_references: await keyReferences(job, dependencies, problems, changed),
  };
}

async function compareWhole(
  job: FullJob,
  { driver, signal }: PerformDependencies,
): Promise<Answer['differences']> {
  return shown(await driver.compare(wholeOf(job), new Set(job.owned), signal));
}

async function unknownKeys(
  job: FullJob,
  { driver, signal }: PerformDependencies,
): Promise<Answer['unknown_keys']> {
  if (driver.unknownKeys === undefined) return null;
  const { keys, kept } = wholeOf(job);
  const names = new Set([...job.owned, ...job.further]);
  for (const { name } of [...keys, ...kept]) names.add(name);
  return (await driver.unknownKeys(names, signal)).slice(0, MAX_UNKNOWN);
}

/**
 * Returns the lines that name Tsigil's keys, without those of `problems`. Where other programs' keys
 * look like them, those that name such keys follow, except for names that Tsigil's keys would have
 * too.
 */
async function keyReferences(
  job: FullJob,
  { driver, signal }: PerformDependencies,
  problems: readonly KeyProblem[],
  mayBeOld: boolean,
): Promise<Answer['key_references']> {
  const places = await driver.references?.(signal, mayBeOld);
  if (places === undefined) return null;
  if (places.size === 0) return [];
  const { keys } = wholeOf(job);
  const problemIds = new Set(problems.map(({ id }) => id));
  const delivered = keys.filter(({ id }) => !problemIds.has(id));
  const ours = new Set([...job.owned, ...delivered.map(({ name }) => name)]);
  const names = new Set(keys.map(({ name }) => name));
  const sorted = [...places].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const isUnknown = (key: string) =>
    driver.unknownKeys !== undefined && !ours.has(key) && !names.has(key);
  return [...sorted.filter(([key]) => ours.has(key)), ...sorted.filter(([key]) => isUnknown(key))]
    .slice(0, MAX_UNKNOWN)
    .map(([key, place]) => ({ key, place: place.slice(0, MAX_PLACE) }));
}

/** Applies the state of a pass, unless the name server has it already. */
async function applyState(
  job: FullJob,
  { driver, signal, begin }: PerformDependencies,
  begun: Begun,
  isForeign: boolean,
): Promise<Applied & { readonly foundDrift: boolean }> {
  const { state, ownNames } = partOf(job);
  const mayBeApplied = job.is_applied && !isForeign;
  const drift = mayBeApplied ? await driver.compare(state, ownNames, signal) : [];
  const foundDrift = drift.length > 0;
  if (mayBeApplied && !foundDrift) return { changed: false, problems: job.taken, foundDrift };
  // Before its first change, the driver may find that another program already uses a key's name.
  const applied = await driver.apply(state, ownNames, signal, async (keys) => {
    await begin(keys, begun.stamp);
    begun.keys = keys;
  });
  return { ...applied, foundDrift };
}

function verifyPlanOf(
  job: FullJob,
  { problems, disabled = [], prepared }: Applied,
  memory: ReadonlyMap<string, DesiredKey>,
): Required<KeyPlan> {
  const problemIds = new Set(problems.map(({ id }) => id));
  // What a prepared server accepts now, it accepts because of lines of its operator.
  const ids = prepared === undefined ? job.accepted.filter((id) => !problemIds.has(id)) : [];
  const wanted = new Set(ids);
  const keys = new Map(
    job.state.keys.filter(({ id }) => wanted.has(id)).map((key) => [key.id, key]),
  );
  return {
    // A verification that ends early has tested the first ones of the job.
    acceptedKeys: ids.flatMap((id) => keys.get(id) ?? []),
    restrictedKeys: job.restricted.flatMap(({ id, right }) => {
      const key = keys.get(id);
      return key === undefined ? [] : [{ key, right, former: memory.get(id)?.access[right] }];
    }),
    removedKeys: removedKeysOf(job, disabled, memory),
  };
}

/**
 * Returns the removed keys to verify, with their former secrets. A query cannot distinguish a
 * removed key from another key with its name, unless it has a secret.
 */
function removedKeysOf(
  { refused, state }: FullJob,
  disabled: readonly string[],
  memory: ReadonlyMap<string, DesiredKey>,
): readonly RemovedKey[] {
  if (refused.length === 0) return [];
  const names = new Set([...state.keys.map(({ name }) => name), ...disabled]);
  return refused.flatMap(({ id, name }) => {
    // A name that a key had before is not the name of another key in the state.
    const isFree = !names.has(name);
    const former =
      memory.get(id) ?? [...memory.values()].find((key) => isFree && key.name === name);
    return former === undefined && !isFree ? [] : [{ id, name, former }];
  });
}

async function verifyPlan(
  { name_server: server, state, is_slow: isSlow }: FullJob,
  { driver, verify, signal, isInterrupted }: PerformDependencies,
  { acceptedKeys, restrictedKeys, removedKeys }: Required<KeyPlan>,
  isPrepared: boolean,
): Promise<Verdict & { readonly verified?: number }> {
  if (isPrepared && removedKeys.length === 0) return { failures: new Map(), open: undefined };
  const loadedKeys = driver.loadedKeys?.bind(driver, signal);
  const plan = { acceptedKeys, restrictedKeys, loadedKeys };
  if (isSlow) return verifySlowly(verify, server, state.zones, plan, isInterrupted, signal);
  return verify(server, state.zones, { ...plan, removedKeys }, signal, isInterrupted);
}

function shown(differences: readonly Difference[]): Answer['differences'] {
  return differences.map(({ kind, key = null, message }) => ({ kind, key, message }));
}

/** Stores the keys of a pass, and the secrets that the name server may still have. */
function remember({ state, withheld }: FullJob, memory: Map<string, DesiredKey>): void {
  const wanted = idsOf(state.keys);
  const kept = new Set(state.kept.map(({ id }) => id));
  if (withheld === null)
    for (const id of memory.keys()) if (!wanted.has(id) && !kept.has(id)) memory.delete(id);
  for (const key of state.keys) memory.set(key.id, key);
}

/** Removes secrets from the texts of a result, because servers may quote their configuration. */
async function withoutSecrets(result: Result, keys: readonly DesiredKey[]): Promise<Result> {
  const { error, open, prepared, problems, differences, verdicts } = result;
  const texts = problems.length + differences.length + verdicts.length;
  if (error === null && open === null && prepared === null && texts === 0) return result;
  const redact = await redactor(keys.map(({ secret }) => secret));
  const safe = ({ message }: { readonly message: string }) => ({
    // A message must not look like several lines, and must not end in half a surrogate pair.
    message:
      redact(message)
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
        .slice(0, MAX_MESSAGE)
        .replace(/[\uD800-\uDBFF]$/, '') || 'the name server gave no reason',
  });
  const withSafe = <T extends Fault>(failure: T): T => ({ ...failure, ...safe(failure) });
  return {
    ...result,
    error: error && withSafe(error),
    open: open && withSafe(open),
    prepared: prepared && safe({ message: prepared }).message,
    problems: problems.map(withSafe),
    differences: differences.map((difference) => ({ ...difference, ...safe(difference) })),
    verdicts: verdicts.map(({ id, error: failure }) => ({ id, error: withSafe(failure) })),
  };
}
