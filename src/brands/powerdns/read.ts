import { withKept, type DesiredKey, type DesiredState } from '../desired-state.ts';
import { isSameMaterial, type KeyMaterial } from '../../formats/key.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import type { PowerdnsApi } from './api.ts';
import { readGrants, type Grants } from './grants.ts';
import { isDisabledKey, isStamp } from './tsig-keys.ts';
import { adviceOn, successorsIn, wantedGrants, type Plan } from './plan.ts';

/** A plan, and the names of all keys of the server. */
interface ReadPlan extends Plan {
  readonly names: readonly string[];
}

/**
 * Reads the names of all zones and keys, and the keys of `state` that `former` lacks, and returns
 * what the server should have. `requests` is the maximum number of concurrent requests. Throws
 * `DriverError`.
 */
export async function readPlan(
  api: PowerdnsApi,
  requests: number,
  state: DesiredState,
  ownNames: ReadonlySet<string>,
  former: ReadonlyMap<string, KeyMaterial>,
): Promise<ReadPlan> {
  const [zones, names] = await Promise.all([api.zones(), api.keys()]);
  const presentNames = new Set(names.filter((name) => !isStamp(name)));
  const kept = (state.kept ?? []).filter(({ name }) => ownNames.has(name));
  const material = await readMaterial(api, requests, { ...state, kept }, presentNames, former);
  const wanted = withKept({ ...state, kept }, material);
  const others = wanted.filter(({ name }) => {
    const key = material.get(name);
    return key !== undefined && !ownNames.has(name) && !isDisabledKey(key);
  });
  const equal = others.filter((key) => isSameMaterial(key, material.get(key.name)));
  const equalNames = new Set(equal.map(({ name }) => name));
  const grants =
    equal.length === 0 ? new Map<string, Grants>() : await readAllGrants(api, requests, zones);
  const advice = adviceOn(equalNames, grants, state.zones, wantedGrants(state, wanted));
  const adoptedNames = [...equalNames].filter((name) => !advice.has(name));
  const foreign = new Set(others.map(({ name }) => name));
  for (const name of adoptedNames) foreign.delete(name);
  const isTaken = ({ name }: DesiredKey) => isStamp(name) || foreign.has(name);
  const keys = wanted.filter((key) => !isTaken(key));
  const takenKeys = wanted.filter(isTaken);
  const changeableNames = new Set([...ownNames, ...keys.map(({ name }) => name)]);
  for (const { name } of takenKeys) changeableNames.delete(name);
  return {
    content: { keys: material, grants: new Map() },
    zones,
    names,
    presentNames,
    keys,
    takenKeys,
    adoptedNames,
    advice,
    changeableNames,
    wanted: wantedGrants(state, keys),
    successors: successorsIn(state),
  };
}

/** Returns the keys that a state has and that are present, by name. Reads those that `former` lacks. */
async function readMaterial(
  api: PowerdnsApi,
  requests: number,
  { keys, kept = [] }: DesiredState,
  present: ReadonlySet<string>,
  former: ReadonlyMap<string, KeyMaterial>,
): Promise<Map<string, KeyMaterial>> {
  const material = new Map<string, KeyMaterial>();
  const same = keys.filter((key) => isSameMaterial(key, former.get(key.name)));
  const remembered = new Set([...same, ...kept].map(({ name }) => name));
  for (const [name, key] of former)
    if (remembered.has(name) && present.has(name)) material.set(name, key);
  const unread = [...keys, ...kept]
    .map(({ name }) => name)
    .filter((name) => present.has(name) && !material.has(name));
  await mapConcurrently(unread, requests, async (name) => {
    const key = await api.key(name);
    if (key !== undefined) material.set(name, key);
  });
  return material;
}

export async function readAllGrants(
  api: PowerdnsApi,
  requests: number,
  zones: readonly string[],
): Promise<Map<string, Grants>> {
  const grants = new Map<string, Grants>();
  await mapConcurrently(zones, requests, async (zone) => {
    const read = await readGrants(api, zone);
    if (read !== undefined) grants.set(zone, read.grants);
  });
  return grants;
}
