import { powerdns as brand } from '../../domain/brands/powerdns.ts';
import {
  isSameSet,
  withKept,
  type DesiredKey,
  type DesiredState,
} from '../../domain/delivery/desired-state.ts';
import { isSameMaterial, type KeyMaterial } from '../../domain/key-formats/key.ts';
import { integer } from '../../domain/model/field.ts';
import { described, object, withDefault } from '../../domain/model/object.ts';
import { mapConcurrently } from '../../domain/scheduling/concurrency.ts';
import {
  defineDriver,
  DriverError,
  DuplicateKeyError,
  nameTaken,
  requirements,
  unmet,
  type Driver,
  type KeyReferences,
  type Requirement,
} from '../driver.ts';
import { line, LOG_MEMBER } from '../include-file.ts';
import { createPowerdnsApi, type PowerdnsApi } from './powerdns-api.ts';
import { readApiKey } from './powerdns-requests.ts';
import { readGrants, writeGrants, type Grants, type ReadGrants } from './powerdns-grants.ts';
import {
  disableKey,
  isDisabledKey,
  randomSecret,
  stampIn,
  stampKey,
  stampName,
  writeKey,
} from './powerdns-keys.ts';
import {
  adviceOn,
  differencesOf,
  firstOf,
  referencesIn,
  shrunk,
  successorsIn,
  targetOf,
  wantedGrants,
  type Known,
  type Plan,
} from './powerdns-plan.ts';

const options = object({
  url: withDefault(
    described(line(), 'The URL of the API of PowerDNS, without a path.'),
    'http://127.0.0.1:8081',
  ),
  apiKeyFile: described(line(), 'The file with the API key.'),
  requests: withDefault(described(integer(1, 64), 'The maximum number of concurrent requests.'), 8),
  zoneChanges: withDefault(
    described(
      integer(1, 64),
      'The maximum number of concurrent changes to zones. PowerDNS with SQLite accepts only 1.',
    ),
    1,
  ),
  ...LOG_MEMBER,
});

/**
 * What a call of the driver has read or written, and the stamp that the server then has. The keys
 * that were not read for the longest time are first.
 */
interface Memory extends Known {
  readonly stamp: string | undefined;
  /** The grants that a comparison found equal to what it wanted. */
  readonly equal?: Pick<DesiredState, 'zones' | 'keys'> & {
    readonly ours: Plan['ours'];
    readonly grants: ReadonlyMap<string, ReadGrants>;
  };
}

/**
 * The number of keys that a comparison reads although the last call read or wrote them, beginning
 * with those that were not read for the longest time. PowerDNS needs one request for each key, and
 * closes the connection after each request. Most changed secrets are found by the signed queries of
 * the verification, which needs no such request. A key without a grant is found only here.
 */
const READ_AGAIN = 5;

/** How long a removed key may sign NOTIFY messages, while the driver removes its grants. */
const SIGNING_MS = 5000;

/**
 * PowerDNS: keys and grants over the HTTP API. PowerDNS has no grants for all zones, so each zone
 * gets the grants of the keys for all zones. The driver creates keys before their grants, and
 * deletes keys after their grants. A grant without its key would apply to a later key with the same
 * name. PowerDNS signs a NOTIFY with the first key that may transfer the zone.
 */
export const powerdns = defineDriver({
  options,
  create(given, id): Driver {
    const open = createPowerdnsApi(given);
    const { requests, zoneChanges } = given;
    /** What the last call read or wrote. Undefined after a failure. */
    let last: Memory | undefined;

    /** The names of all keys, as the last call read them, and the signal of its pass. */
    let listed: { readonly names: readonly string[]; readonly signal: AbortSignal } | undefined;

    /** The keys that zones name, as the last call read them. */
    let references: KeyReferences | undefined;

    /** Returns what the last call read or wrote, unless another process has delivered since. */
    const recall = (carried: KeyMaterial | undefined): Memory => {
      const former = last?.stamp === stampIn(carried) ? last : undefined;
      last = undefined;
      return former ?? { keys: new Map(), grants: new Map(), stamp: undefined };
    };

    /** Reads the grants of zones into `known`. */
    const readAllGrants = (api: PowerdnsApi, zones: readonly string[], known: Known['grants']) =>
      mapConcurrently(zones, requests, async (zone) => {
        const read = await readGrants(api, zone);
        if (read !== undefined) known.set(zone, read.grants);
      });

    /**
     * Reads the names of all zones and keys, and the keys of `state` that `former` lacks. Does not
     * remember the grants.
     */
    const plan = async (
      api: PowerdnsApi,
      state: DesiredState,
      owned: ReadonlySet<string>,
      former: Known['keys'],
      signal: AbortSignal,
    ): Promise<Plan> => {
      const known: Known = { keys: new Map(), grants: new Map() };
      const [zones, all] = await Promise.all([api.zones(), api.keys()]);
      listed = { names: all, signal };
      const present = all.filter((name) => !isStamp(name));
      const names = new Set(present);
      const kept = (state.kept ?? []).filter(({ name }) => owned.has(name));
      const same = state.keys.filter((key) => isSameMaterial(key, former.get(key.name)));
      const remembered = new Set([...same, ...kept].map(({ name }) => name));
      for (const [name, found] of former)
        if (remembered.has(name) && names.has(name)) known.keys.set(name, found);
      const unread = [...state.keys, ...kept]
        .map(({ name }) => name)
        .filter((name) => names.has(name) && !known.keys.has(name));
      await mapConcurrently(unread, requests, async (name) => {
        const key = await api.key(name);
        if (key !== undefined) known.keys.set(name, key);
      });
      const wanted = withKept({ ...state, kept }, known.keys);
      const others = wanted.filter(({ name }) => {
        const found = known.keys.get(name);
        return found !== undefined && !owned.has(name) && !isDisabledKey(found);
      });
      const equal = others.filter((key) => isSameMaterial(key, known.keys.get(key.name)));
      const grantsNow: Known['grants'] = new Map();
      if (equal.length > 0) await readAllGrants(api, zones, grantsNow);
      const equalNames = new Set(equal.map(({ name }) => name));
      const advice = adviceOn(equalNames, grantsNow, state.zones, wantedGrants(state, wanted));
      const adopted = [...equalNames].filter((name) => !advice.has(name));
      const foreign = new Set(others.map(({ name }) => name));
      for (const name of adopted) foreign.delete(name);
      const isTaken = ({ name }: DesiredKey) => isStamp(name) || foreign.has(name);
      const keys = wanted.filter((key) => !isTaken(key));
      const taken = wanted.filter(isTaken);
      const ours = new Set([...owned, ...keys.map(({ name }) => name)]);
      for (const { name } of taken) ours.delete(name);
      const grants = wantedGrants(state, keys);
      const named = { present: names, keys, taken, adopted, advice, ours };
      return { known, zones, ...named, wanted: grants, successors: successorsIn(state) };
    };

    const apply: Driver['apply'] = async (state, owned, signal, intend) => {
      const api = await open(signal);
      const [stamp] = state.stamps ?? [];
      const carried = stamp === undefined ? undefined : await api.key(stampName(id));
      const former = recall(carried);
      const planned = await plan(api, state, owned, former.keys, signal);
      const { known, zones, keys, present, successors } = planned;
      const ours = new Set(planned.ours);
      let { taken, wanted } = planned;
      await intend?.(keys);
      // The stamp comes first: a server with some of the changes does not have the former stamp.
      if (stamp !== undefined) await writeKey(api, stampKey(id, stamp), carried);
      const desired = new Set(keys.map(({ name }) => name));
      const existing = new Set(present);
      const exists = (name: string) => existing.has(name);
      const removed = [...present].filter((name) => ours.has(name) && !desired.has(name));
      const fresh = keys.filter(({ name }) => !present.has(name));
      const changed = keys.filter(
        (key) => present.has(key.name) && !isSameMaterial(key, known.keys.get(key.name)),
      );
      let changes = fresh.length + changed.length + removed.length;
      const changeZone = limiter(zoneChanges);
      const grant = (wantedOf: (zone: string, grants: Grants) => Grants) =>
        mapConcurrently(zones, Math.max(requests, zoneChanges), async (zone) => {
          const grants = known.grants.get(zone) ?? (await readGrants(api, zone))?.grants;
          if (grants === undefined) return;
          const target = wantedOf(zone, grants);
          const written = await changeZone(() => writeGrants(api, zone, grants, target, exists));
          if (written !== undefined) changes += 1;
          known.grants.set(zone, written ?? grants);
        });
      const disable = (names: readonly string[]) =>
        mapConcurrently(names, requests, (name) => disableKey(api, name));

      const seen = new Map(former.grants);
      if (removed.length + fresh.length > 0)
        await readAllGrants(
          api,
          zones.filter((zone) => !seen.has(zone)),
          seen,
        );
      // The secondary servers would refuse a NOTIFY that is signed with a random secret.
      const signers = new Set(zones.map((zone) => seen.get(zone)?.transfer[0]));
      const signing = removed.filter((name) => signers.has(name));
      const urgent = new Set(
        (state.removed ?? []).flatMap(({ name, compromised }) => (compromised ? [name] : [])),
      );
      const isFew = removed.length < zones.length;
      await disable(removed.filter((name) => urgent.has(name) || (isFew && !signers.has(name))));

      /** Changes the grants and the other keys, and removes the grants of the removed keys. */
      const change = async () => {
        // A new or changed key would get the grants of a former key with the same name. Remove
        // these grants first, or give a new key a secret that no one knows until the grants are
        // removed. PowerDNS must refuse removed keys before it may refuse a new key.
        const names = new Set(fresh.map(({ name }) => name));
        const adds = changed.length + fresh.length > 0;
        const isDisabled =
          changed.length === 0 &&
          fresh.length < zones.length &&
          !(adds && removed.length >= zones.length) &&
          !zones.some((zone) =>
            names.has(firstOf(seen.get(zone), ours, wanted(zone), successors) ?? ''),
          );
        if (!isDisabled) {
          const early = new Set(ours);
          for (const name of signing) early.delete(name);
          await grant((zone, grants) => shrunk(grants, early, wanted(zone)));
        }
        const refusals: DriverError[] = [];
        await mapConcurrently([...changed, ...fresh], requests, async (key) => {
          const found = known.keys.get(key.name);
          try {
            await writeKey(api, isDisabled ? { ...key, secret: randomSecret() } : key, found);
            existing.add(key.name);
          } catch (error) {
            if (!(error instanceof DriverError) || error.code !== 'refused_by_server') throw error;
            if (found?.algorithm !== key.algorithm) existing.delete(key.name);
            if (error instanceof DuplicateKeyError) {
              taken = [...taken, key];
              ours.delete(key.name);
            } else refusals.push(error);
          }
        });
        if (adds)
          wanted = wantedGrants(
            state,
            keys.filter(({ name }) => exists(name)),
          );
        // Change each zone once, even if some keys are new and other keys are removed.
        await grant((zone, grants) => targetOf(grants, ours, wanted(zone), successors));
        await mapConcurrently(removed, requests, (name) => api.deleteKey(name));
        if (isDisabled)
          await mapConcurrently(
            fresh.filter(({ name }) => exists(name)),
            requests,
            ({ name, secret }) => api.changeSecret(name, secret),
          );
        return refusals;
      };
      const [refusal] = await withFallback(SIGNING_MS, change, () => disable(signing));
      if (refusal !== undefined) throw refusal;
      const isRemembered = former.keys.size > 0;
      // Another program may have changed a secret that this call has not read.
      if (changes === 0 && isRemembered) return apply(state, owned, signal, intend);
      const written = keys.filter(({ name }) => exists(name));
      for (const { name, algorithm, secret } of written)
        known.keys.set(name, { algorithm, secret });
      last = { ...known, stamp };
      references = referencesIn(known.grants, ours);
      const problems = taken.map((key) => nameTaken(brand, key, planned.advice.get(key.name)));
      return { changed: changes > 0, problems };
    };

    return {
      apply,

      async compare(state, owned, signal) {
        const api = await open(signal);
        const [next, ...stamps] = state.stamps ?? [];
        const found = next === undefined ? undefined : await api.key(stampName(id));
        const former = recall(found);
        const unread = new Map([...former.keys].slice(READ_AGAIN));
        const planned = await plan(api, state, owned, unread, signal);
        const { known, zones, ours } = planned;
        const { equal } = former;
        const isSame =
          equal?.keys === state.keys && equal.zones === state.zones && isSameSet(equal.ours, ours);
        const read = new Map<string, ReadGrants>();
        const same = new Set<string>();
        await mapConcurrently(zones, requests, async (zone) => {
          const before = isSame ? equal.grants.get(zone) : undefined;
          const now = await readGrants(api, zone, before);
          if (now === undefined) return;
          read.set(zone, now);
          known.grants.set(zone, now.grants);
          if (now === before) same.add(zone);
        });
        references = referencesIn(known.grants, ours);
        const carried = stampIn(found);
        const isStamped = next === carried || stamps.some((stamp) => stamp === carried);
        const message = 'PowerDNS lacks the stamp of the last delivery.';
        const differences = [
          ...differencesOf(planned, same),
          ...(isStamped ? [] : [{ kind: 'other', message } as const]),
        ];
        const compared = { zones: state.zones, keys: state.keys, ours, grants: read };
        if (differences.length === 0) last = { ...known, stamp: carried, equal: compared };
        return differences;
      },

      async printed() {
        const apiKey = await readApiKey(given.apiKeyFile);
        return { format: 'powerdns', url: given.url.replace(/\/+$/, ''), apiKey };
      },

      stamp: async (signal) => stampIn(await (await open(signal)).key(stampName(id))),

      // Each pass compares or applies, and thereby reads the metadata of all zones.
      references: () => Promise.resolve(references),

      async unknownKeys(owned, signal) {
        // A pass compares or applies first, and thereby reads the names. Others ask for themselves.
        const names = listed?.signal === signal ? listed.names : await (await open(signal)).keys();
        return names.filter((name) => !owned.has(name) && !isStamp(name)).toSorted();
      },

      check: (signal) => checkServer(open, signal),
    };
  },
});

async function checkServer(
  open: (signal: AbortSignal) => Promise<PowerdnsApi>,
  signal: AbortSignal,
): Promise<readonly Requirement[]> {
  return requirements('The API of PowerDNS accepts the API key.', async () => {
    const settings = await (await open(signal)).settings();
    return ['allow-axfr-ips', 'allow-dnsupdate-from'].map((name): Requirement => {
      const value = settings.get(name) ?? '';
      const requirement = `The setting \`${name}\` of PowerDNS is empty.`;
      if (value === '') return { requirement, ok: true };
      return unmet(requirement, {
        message: `PowerDNS accepts requests without a key from ${value}.`,
        hint: `Set \`${name}=\` in the configuration of PowerDNS, and restart it.`,
      });
    });
  });
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

/** Returns whether a key has the stamp of a name server. */
function isStamp(name: string): boolean {
  return name.startsWith(brand.ownKeys);
}

/**
 * Returns a function that runs tasks, at most `concurrency` at a time, in the order of its calls.
 * The function returns what the task returns, and throws what the task throws. Once a task has
 * failed, the function starts no further task and throws the same error.
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
