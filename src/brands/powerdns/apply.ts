import type { DesiredKey, DesiredState } from '../desired-state.ts';
import { isSameMaterial, type KeyMaterial } from '../../formats/key.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import { DriverError, DuplicateKeyError } from '../driver.ts';
import type { PowerdnsApi } from './api.ts';
import { readGrants, writeGrants, type Grants } from './grants.ts';
import { disableKey, randomSecret, writeKey } from './tsig-keys.ts';
import { firstOf, shrunk, targetOf, wantedGrants, type ServerContent, type Plan } from './plan.ts';
import { readAllGrants } from './read.ts';

/** How long a removed key may sign NOTIFY messages, while the driver removes its grants. */
const SIGNING_MS = 5000;

/** The maximum numbers of concurrent requests, and of concurrent changes to zones. */
interface Limits {
  readonly requests: number;
  readonly zoneChanges: number;
}

interface AppliedPlan {
  readonly content: ServerContent;
  readonly changes: number;
  /** The keys that the server refused, because it has others with their names. */
  readonly duplicates: readonly DesiredKey[];
  readonly changeableNames: ReadonlySet<string>;
}

/**
 * Changes a server as planned. `former` are grants as they were read before. Throws `DriverError`,
 * also if the server refused a key, after all other changes.
 */
export async function applyPlan(
  api: PowerdnsApi,
  limits: Limits,
  plan: Plan,
  state: DesiredState,
  former: ReadonlyMap<string, Grants>,
): Promise<AppliedPlan> {
  const { content, zones, keys, successors } = plan;
  const { additions, changed, removals } = keyChangesOf(plan);
  const existingNames = new Set(plan.presentNames);
  const exists = ({ name }: DesiredKey) => existingNames.has(name);
  const changeableNames = new Set(plan.changeableNames);
  const duplicates: DesiredKey[] = [];
  let changes = additions.length + changed.length + removals.length;
  const changeZone = limiter(limits.zoneChanges);
  const grant = (wantedOf: (zone: string, grants: Grants) => Grants) =>
    mapConcurrently(zones, Math.max(limits.requests, limits.zoneChanges), async (zone) => {
      const grants = content.grants.get(zone) ?? (await readGrants(api, zone))?.grants;
      if (grants === undefined) return;
      const target = wantedOf(zone, grants);
      const written = await changeZone(() =>
        writeGrants(api, zone, grants, target, (name) => existingNames.has(name)),
      );
      if (written !== undefined) changes += 1;
      content.grants.set(zone, written ?? grants);
    });
  const disable = (names: readonly string[]) =>
    mapConcurrently(names, limits.requests, (name) => disableKey(api, name));

  const isAnyNameNew = removals.length + additions.length > 0;
  const unread = isAnyNameNew ? zones.filter((zone) => !former.has(zone)) : [];
  const seen = new Map([...former, ...(await readAllGrants(api, limits.requests, unread))]);
  // The secondary servers would refuse a NOTIFY that is signed with a random secret.
  const signers = new Set(zones.map((zone) => seen.get(zone)?.transfer[0]));
  const signing = removals.filter((name) => signers.has(name));
  const compromised = compromisedIn(state);
  const isFew = removals.length < zones.length;
  await disable(removals.filter((name) => compromised.has(name) || (isFew && !signers.has(name))));

  /** Returns whether a zone would sign its NOTIFY with a new key. */
  const signsWithAddition = () => {
    const names = new Set(additions.map(({ name }) => name));
    return zones.some((zone) =>
      names.has(firstOf(seen.get(zone), changeableNames, plan.wanted(zone), successors) ?? ''),
    );
  };

  const change = async (): Promise<readonly DriverError[]> => {
    // A new or changed key would get the grants of a former key with the same name. Remove
    // these grants first, or give a new key a secret that no one knows until the grants are
    // removed. PowerDNS must refuse removed keys before it may refuse a new key.
    const addsKeys = changed.length + additions.length > 0;
    const isHidden =
      changed.length === 0 &&
      additions.length < zones.length &&
      !(addsKeys && removals.length >= zones.length) &&
      !signsWithAddition();
    if (!isHidden) {
      const early = new Set(changeableNames);
      for (const name of signing) early.delete(name);
      await grant((zone, grants) => shrunk(grants, early, plan.wanted(zone)));
    }
    const secretOf = ({ secret }: DesiredKey) => (isHidden ? randomSecret() : secret);
    const refusals = await writeKeys(
      api,
      limits,
      [...changed, ...additions].map((key) => ({ ...key, secret: secretOf(key) })),
      content.keys,
      existingNames,
    );
    for (const { key, error } of refusals)
      if (error instanceof DuplicateKeyError) {
        duplicates.push(key);
        changeableNames.delete(key.name);
      }
    const wanted = addsKeys ? wantedGrants(state, keys.filter(exists)) : plan.wanted;
    // Change each zone once, even if some keys are new and other keys are removed.
    await grant((zone, grants) => targetOf(grants, changeableNames, wanted(zone), successors));
    await mapConcurrently(removals, limits.requests, (name) => api.deleteKey(name));
    if (isHidden)
      await mapConcurrently(additions.filter(exists), limits.requests, ({ name, secret }) =>
        api.changeSecret(name, secret),
      );
    return refusals.map(({ error }) => error);
  };

  const errors = await withFallback(SIGNING_MS, change, () => disable(signing));
  const refusal = errors.find((error) => !(error instanceof DuplicateKeyError));
  if (refusal !== undefined) throw refusal;
  for (const { name, algorithm, secret } of keys.filter(exists))
    content.keys.set(name, { algorithm, secret });
  return { content, changes, duplicates, changeableNames };
}

function keyChangesOf({ keys, presentNames, changeableNames, content }: Plan) {
  const names = new Set(keys.map(({ name }) => name));
  return {
    additions: keys.filter(({ name }) => !presentNames.has(name)),
    changed: keys.filter(
      (key) => presentNames.has(key.name) && !isSameMaterial(key, content.keys.get(key.name)),
    ),
    removals: [...presentNames].filter((name) => changeableNames.has(name) && !names.has(name)),
  };
}

function compromisedIn({ removals = [] }: DesiredState): ReadonlySet<string> {
  return new Set(removals.flatMap(({ name, compromised }) => (compromised ? [name] : [])));
}

/**
 * Creates or changes keys, and notes in `existing` which there are then. Returns the keys that the
 * server refused. Throws other `DriverError`s.
 */
async function writeKeys(
  api: PowerdnsApi,
  { requests }: Limits,
  keys: readonly DesiredKey[],
  material: ReadonlyMap<string, KeyMaterial>,
  existingNames: Set<string>,
): Promise<readonly { readonly key: DesiredKey; readonly error: DriverError }[]> {
  const refusals: { key: DesiredKey; error: DriverError }[] = [];
  await mapConcurrently(keys, requests, async (key) => {
    const present = material.get(key.name);
    try {
      await writeKey(api, key, present);
      existingNames.add(key.name);
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'refused_by_server') throw error;
      if (present?.algorithm !== key.algorithm) existingNames.delete(key.name);
      refusals.push({ key, error });
    }
  });
  return refusals;
}

/**
 * Runs `work`, and `fallback` if `work` takes longer than `ms` milliseconds or fails. Returns what
 * `work` returns, and throws only what `work` throws.
 */
async function withFallback<T>(
  ms: number,
  work: () => Promise<T>,
  fallback: () => Promise<unknown>,
): Promise<T> {
  let late: Promise<unknown> | undefined;
  const runLate = () => (late ??= fallback().catch(() => undefined));
  const timer = setTimeout(() => void runLate(), ms);
  try {
    return await work();
  } catch (error) {
    await runLate();
    throw error;
  } finally {
    clearTimeout(timer);
    await late;
  }
}

/**
 * Returns a function that runs at most `concurrency` tasks at a time, in the order of its calls.
 * Once a task has failed, it starts no further task and throws the same error.
 */
function limiter(concurrency: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  return async (task) => {
    if (running < concurrency) running += 1;
    else await new Promise<void>((start) => waiting.push(start));
    try {
      if (failure !== undefined) throw failure.error;
      return await task();
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
