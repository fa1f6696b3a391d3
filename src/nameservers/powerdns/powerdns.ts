import { setMaxListeners } from 'node:events';
import {
  RIGHTS,
  withKept,
  type DesiredKey,
  type DesiredState,
} from '../../domain/delivery/desired-state.ts';
import { integer } from '../../domain/model/field.ts';
import { described, object, withDefault } from '../../domain/model/object.ts';
import { defineDriver, DriverError, type Driver, type Requirement } from '../driver.ts';
import { line } from '../include-file.ts';
import { createPowerdnsApi, type PowerdnsApi } from './powerdns-api.ts';
import { readGrants, writeGrants, type Grants } from './powerdns-grants.ts';
import {
  differencesOf,
  grown,
  inParallel,
  shrunk,
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
  requests: withDefault(
    described(integer(1, 64), 'The maximum number of requests at the same time.'),
    8,
  ),
  zoneChanges: withDefault(
    described(
      integer(1, 64),
      'The maximum number of changes of zones at the same time. With SQLite, PowerDNS accepts 1.',
    ),
    1,
  ),
});

/**
 * PowerDNS: keys and grants over the HTTP API. PowerDNS has no grants for all zones, so each zone
 * gets those of the keys for all zones. The driver creates keys before their grants and deletes
 * them after their grants. A grant without its key would apply to a later key with that name.
 */
export const powerdns = defineDriver({
  options,
  rights: RIGHTS,
  create(given): Driver {
    const api = createPowerdnsApi(given);
    const { requests, zoneChanges } = given;
    /** What the server has, or undefined if it must be read. */
    let cache: Known | undefined;

    const plan = async (
      state: DesiredState,
      owned: ReadonlySet<string>,
      signal: AbortSignal,
    ): Promise<Plan> => {
      setMaxListeners(0, signal); // each request listens
      const known: Known = cache ?? { keys: new Map(), grants: new Map() };
      cache = undefined;
      const [zones, present] = await Promise.all([api.zones(signal), api.keys(signal)]);
      const names = new Set(present);
      const served = new Set(zones);
      for (const name of known.keys.keys()) if (!names.has(name)) known.keys.delete(name);
      for (const zone of known.grants.keys()) if (!served.has(zone)) known.grants.delete(zone);
      const kept = (state.kept ?? []).filter(({ name }) => owned.has(name));
      const unread = [...state.keys, ...kept].filter(
        ({ name }) => names.has(name) && !known.keys.has(name),
      );
      await inParallel(unread, requests, async ({ name }) => {
        const key = await api.key(name, signal);
        if (key !== undefined) known.keys.set(name, key);
      });
      await inParallel(
        zones.filter((zone) => !known.grants.has(zone)),
        requests,
        async (zone) => {
          const grants = await readGrants(api, zone, signal);
          if (grants !== undefined) known.grants.set(zone, grants);
        },
      );
      const isTaken = ({ name, algorithm, secret }: DesiredKey) => {
        const found = known.keys.get(name);
        if (found === undefined || owned.has(name)) return false;
        return found.algorithm !== algorithm || found.secret !== secret;
      };
      const all = withKept({ ...state, kept }, known.keys);
      const keys = all.filter((key) => !isTaken(key));
      const taken = all.filter(isTaken);
      const others = new Set(taken.map(({ name }) => name));
      const ours = new Set([...owned, ...keys.map(({ name }) => name)]);
      for (const name of others) ours.delete(name);
      return { known, zones, present: names, keys, taken, ours, wanted: wantedGrants(state, keys) };
    };

    return {
      async apply(state, owned, signal) {
        const planned = await plan(state, owned, signal);
        const { known, zones, keys, present, ours, wanted } = planned;
        const desired = new Map(keys.map((key) => [key.name, key]));
        let changes = 0;
        const grant = (targetOf: (zone: string, grants: Grants) => Grants) =>
          inParallel(zones, zoneChanges, async (zone) => {
            const grants = known.grants.get(zone);
            if (grants === undefined) return;
            const target = targetOf(zone, grants);
            const written = await writeGrants(api, zone, grants, target, signal);
            if (written === undefined) return;
            changes += 1;
            known.grants.set(zone, written);
          });
        // Grants of a deleted key would apply to a new key with its name.
        await grant((zone, grants) => shrunk(grants, ours, wanted(zone)));
        const removed = [...present].filter((name) => ours.has(name) && !desired.has(name));
        await inParallel(removed, requests, async (name) => {
          changes += 1;
          await api.deleteKey(name, signal);
          known.keys.delete(name);
        });
        await inParallel(keys, requests, async (key) => {
          if (await writeKey(api, key, known.keys.get(key.name), signal)) changes += 1;
          known.keys.set(key.name, { algorithm: key.algorithm, secret: key.secret });
        });
        await grant((zone, grants) => grown(grants, wanted(zone)));
        cache = known;
        return { changed: changes > 0, problems: planned.taken.map(nameTaken) };
      },

      async compare(state, owned, signal) {
        cache = undefined;
        const planned = await plan(state, owned, signal);
        cache = planned.known;
        return differencesOf(planned);
      },

      check: (signal) => checkServer(api, signal),
    };
  },
});

/** Creates or changes a key. Returns false if the server has it. */
async function writeKey(
  api: PowerdnsApi,
  key: DesiredKey,
  found: { readonly algorithm: string; readonly secret: string } | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (found?.algorithm === key.algorithm && found.secret === key.secret) return false;
  if (found?.algorithm === key.algorithm) {
    await api.changeSecret(key.name, key.secret, signal);
    return true;
  }
  // A request to change the algorithm adds a second key with the name.
  if (found !== undefined) await api.deleteKey(key.name, signal);
  try {
    await api.createKey(key, signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw new DriverError(
      error.code,
      error.message.replaceAll(key.secret, '***'),
      error.hint,
      undefined,
    );
  }
  return true;
}

async function checkServer(api: PowerdnsApi, signal: AbortSignal): Promise<readonly Requirement[]> {
  const requirement = 'The API of PowerDNS accepts the API key.';
  try {
    const settings = await api.settings(signal);
    const closed = ['allow-axfr-ips', 'allow-dnsupdate-from'].map((name): Requirement => {
      const value = settings.get(name) ?? '';
      const condition = `The setting \`${name}\` of PowerDNS is empty.`;
      if (value === '') return { requirement: condition, ok: true };
      const problem = `PowerDNS needs no key for requests from ${value}.`;
      const hint = `Set \`${name}=\` in the configuration of PowerDNS, and restart it.`;
      return { requirement: condition, ok: false, problem, hint };
    });
    return [{ requirement, ok: true }, ...closed];
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const { message: problem, hint } = error;
    return [{ requirement, ok: false, problem, ...(hint === undefined ? {} : { hint }) }];
  }
}

function nameTaken({ id, name }: DesiredKey) {
  const message = `PowerDNS already has a key '${name}' that is not Tsigil's. Rename one of the two keys.`;
  return { id, code: 'name_taken' as const, message };
}
