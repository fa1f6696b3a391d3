import { setMaxListeners } from 'node:events';
import {
  RIGHTS,
  type DesiredKey,
  type DesiredState,
  type Right,
} from '../../domain/delivery/desired-state.ts';
import { integer } from '../../domain/model/field.ts';
import { described, object, withDefault } from '../../domain/model/object.ts';
import {
  defineDriver,
  DriverError,
  type Difference,
  type Driver,
  type Requirement,
} from '../driver.ts';
import { line } from '../include-file.ts';
import { createPowerdnsApi, type PowerdnsApi } from './powerdns-api.ts';
import { readGrants, writeGrants, type Grants } from './powerdns-grants.ts';

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

/** The keys and grants of a server, as last read or written. */
interface Known {
  readonly keys: Map<string, { readonly algorithm: string; readonly secret: string }>;
  readonly grants: Map<string, Grants>;
}

/** What a server has, and what it should have. */
interface Plan {
  readonly known: Known;
  readonly zones: readonly string[];
  /** The names of all keys of the server. */
  readonly present: ReadonlySet<string>;
  /** The keys to deliver. */
  readonly keys: readonly DesiredKey[];
  readonly taken: readonly DesiredKey[];
  /** The names of keys that Tsigil may change and remove. */
  readonly ours: ReadonlySet<string>;
  /** The names of Tsigil's keys that each zone is to accept, by right. */
  readonly wanted: (zone: string) => Readonly<Record<Right, readonly string[]>>;
}

/**
 * PowerDNS: keys and grants over the HTTP API. PowerDNS has no grants for all zones, so each zone
 * gets those of the keys for all zones. Keys are created before their grants and deleted after them,
 * because a grant without its key would apply to a later key with that name.
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
      const unread = state.keys.filter(({ name }) => names.has(name) && !known.keys.has(name));
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
      const keys = state.keys.filter((key) => !isTaken(key));
      const taken = state.keys.filter(isTaken);
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

/** Returns the function from zones to the keys that they are to accept. */
function wantedGrants(state: DesiredState, keys: readonly DesiredKey[]): Plan['wanted'] {
  const managed = new Set(state.zones);
  const select = (right: Right) => {
    const own = keys.filter(({ rights }) => rights.includes(right));
    const shared = own.filter(({ zones }) => zones === 'all').map(({ name }) => name);
    const local = new Map<string, string[]>();
    for (const { name, zones } of own)
      if (zones !== 'all')
        for (const zone of zones) local.set(zone, [...(local.get(zone) ?? []), name]);
    return (zone: string) =>
      managed.has(zone) ? [...shared, ...(local.get(zone) ?? [])] : (local.get(zone) ?? []);
  };
  const [transfer, update] = [select('transfer'), select('update')];
  return (zone) => ({ transfer: transfer(zone), update: update(zone) });
}

type Wanted = ReturnType<Plan['wanted']>;

/** Returns the grants without those of Tsigil's keys that are not wanted. */
function shrunk(grants: Grants, ours: ReadonlySet<string>, wanted: Wanted): Grants {
  const keep = (right: Right) =>
    grants[right].filter((name) => !ours.has(name) || wanted[right].includes(name));
  return { ...grants, transfer: keep('transfer'), update: keep('update') };
}

/** Returns the grants with those that are wanted. */
function grown(grants: Grants, wanted: Wanted): Grants {
  const add = (right: Right) => [...new Set([...grants[right], ...wanted[right]])];
  return { ...grants, transfer: add('transfer'), update: add('update') };
}

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

function differencesOf({ known, zones, keys, present, ours, wanted }: Plan): readonly Difference[] {
  const desired = new Set(keys.map(({ name }) => name));
  const differences = keys.flatMap((key): Difference[] => {
    const found = known.keys.get(key.name);
    if (found === undefined)
      return [{ kind: 'missing', key: key.name, message: 'PowerDNS lacks the key.' }];
    return found.algorithm === key.algorithm && found.secret === key.secret
      ? []
      : [{ kind: 'changed', key: key.name, message: 'PowerDNS has the key with other values.' }];
  });
  for (const name of present)
    if (ours.has(name) && !desired.has(name))
      differences.push({ kind: 'extra', key: name, message: 'PowerDNS has the key.' });
  for (const zone of zones) {
    const grants = known.grants.get(zone);
    if (grants === undefined) continue;
    const target = grown(shrunk(grants, ours, wanted(zone)), wanted(zone));
    for (const right of RIGHTS) {
      const isEqual =
        target[right].length === grants[right].length &&
        target[right].every((name) => grants[right].includes(name));
      const message = `The zone '${zone}' has other keys for the right '${right}'.`;
      if (!isEqual) differences.push({ kind: 'other', message });
    }
  }
  return differences;
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

/**
 * Runs `work` on each item, `concurrency` at a time. Throws the first error when no work is left in
 * progress.
 */
async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const item of waiting) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
