import { powerdns as brand } from './brand.ts';
import { isSameSet, type DesiredState } from '../desired-state.ts';
import type { KeyMaterial } from '../../formats/key.ts';
import { integer } from '../../core/field.ts';
import { described, object, withDefault } from '../../core/object.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import {
  defineDriver,
  nameTaken,
  requirements,
  unmet,
  type Driver,
  type KeyReferences,
  type Requirement,
} from '../driver.ts';
import { LOG_MEMBER, OPTION_LINE } from '../include-file.ts';
import { createPowerdnsApi, type PowerdnsApi } from './api.ts';
import { applyPlan } from './apply.ts';
import { readGrants, type ReadGrants } from './grants.ts';
import { isStamp, stampIn, stampKey, stampName, writeKey } from './tsig-keys.ts';
import { differencesOf, referencesIn, type ServerContent, type Plan } from './plan.ts';
import { readPlan } from './read.ts';
import { readApiKey } from './requests.ts';

const options = object({
  url: withDefault(
    described(OPTION_LINE, 'The URL of the API of PowerDNS, without a path.'),
    'http://127.0.0.1:8081',
  ),
  apiKeyFile: described(OPTION_LINE, 'The file with the API key.'),
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
interface Memory extends ServerContent {
  readonly stamp: string | undefined;
  /** The grants that a comparison found equal to what it wanted. */
  readonly equal?: Pick<DesiredState, 'zones' | 'keys'> & {
    readonly changeableNames: Plan['changeableNames'];
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
    const { requests } = given;
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

    const apply: Driver['apply'] = async (state, ownNames, signal, intend) => {
      const api = await open(signal);
      const [stamp] = state.stamps ?? [];
      const carried = stamp === undefined ? undefined : await api.key(stampName(id));
      const former = recall(carried);
      const plan = await readPlan(api, requests, state, ownNames, former.keys);
      listed = { names: plan.names, signal };
      await intend?.(plan.keys);
      // The stamp comes first: a server with some of the changes does not have the former stamp.
      if (stamp !== undefined) await writeKey(api, stampKey(id, stamp), carried);
      const applied = await applyPlan(api, given, plan, state, former.grants);
      const { content, changes, duplicates, changeableNames } = applied;
      // Another program may have changed a secret that this call has not read.
      if (changes === 0 && former.keys.size > 0) return apply(state, ownNames, signal, intend);
      last = { ...content, stamp };
      references = referencesIn(content.grants, changeableNames);
      const taken = [...plan.takenKeys, ...duplicates];
      const problems = taken.map((key) => nameTaken(brand, key, plan.advice.get(key.name)));
      return { changed: changes > 0, problems };
    };

    return {
      apply,

      async compare(state, ownNames, signal) {
        const api = await open(signal);
        const [next, ...stamps] = state.stamps ?? [];
        const found = next === undefined ? undefined : await api.key(stampName(id));
        const former = recall(found);
        const unread = new Map([...former.keys].slice(READ_AGAIN));
        const plan = await readPlan(api, requests, state, ownNames, unread);
        listed = { names: plan.names, signal };
        const { content, zones, changeableNames } = plan;
        const { equal } = former;
        const isSame =
          equal?.keys === state.keys &&
          equal.zones === state.zones &&
          isSameSet(equal.changeableNames, changeableNames);
        const read = new Map<string, ReadGrants>();
        const same = new Set<string>();
        await mapConcurrently(zones, requests, async (zone) => {
          const before = isSame ? equal.grants.get(zone) : undefined;
          const now = await readGrants(api, zone, before);
          if (now === undefined) return;
          read.set(zone, now);
          content.grants.set(zone, now.grants);
          if (now === before) same.add(zone);
        });
        references = referencesIn(content.grants, changeableNames);
        const carried = stampIn(found);
        const isStamped = next === carried || stamps.some((stamp) => stamp === carried);
        const message = 'PowerDNS lacks the stamp of the last delivery.';
        const differences = [
          ...differencesOf(plan, same),
          ...(isStamped ? [] : [{ kind: 'other', message } as const]),
        ];
        const compared = { zones: state.zones, keys: state.keys, changeableNames, grants: read };
        if (differences.length === 0) last = { ...content, stamp: carried, equal: compared };
        return differences;
      },

      async printed() {
        const apiKey = await readApiKey(given.apiKeyFile);
        return { format: 'powerdns', url: given.url.replace(/\/+$/, ''), apiKey };
      },

      stamp: async (signal) => stampIn(await (await open(signal)).key(stampName(id))),

      // Each pass compares or applies, and thereby reads the metadata of all zones.
      references: () => Promise.resolve(references),

      async unknownKeys(ownNames, signal) {
        // A pass compares or applies first, and thereby reads the names. Others ask for themselves.
        const names = listed?.signal === signal ? listed.names : await (await open(signal)).keys();
        return names.filter((name) => !ownNames.has(name) && !isStamp(name)).toSorted();
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
