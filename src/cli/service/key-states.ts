import { KEY_STATES } from '../../domain/actions/key-states.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { parts } from '../../domain/scheduling/slicer.ts';
import { millisecondsOf } from '../../domain/text/timestamps.ts';
import { callFor, type Connection } from './client.ts';
import type { Item } from './resource-requests.ts';

/** The columns of keys that `withStates` adds. */
export const STATE_COLUMNS = ['state', 'age', 'weakness', 'owner', 'expires_at'] as const;

/** Adds the columns of `STATE_COLUMNS` to keys, with one request for 1,000 keys. */
export async function withStates(
  connection: Connection,
  keys: readonly Item[],
  now: number,
): Promise<Item[]> {
  const shown: Item[] = [];
  for (const some of parts(keys, MAX_LIMIT)) {
    const byId = await statesOf(connection, some);
    for (const key of some) {
      const known = byId.get(String(key.id));
      const { state, weakness, secret_set_at: since, owner, expires_at } = known ?? {};
      const age = since === undefined ? null : ageOf(now - millisecondsOf(since));
      shown.push({ ...key, state, weakness, age, owner, expires_at });
    }
  }
  return shown;
}

/**
 * Returns the keys that the logs of all their name servers show no use of since `time`, and for the
 * other keys the name servers whose logs do not show every use, and those in `shortOn` whose logs do so
 * only since a later time.
 */
export async function unusedSince(
  connection: Connection,
  keys: readonly Item[],
  time: string,
): Promise<{
  readonly unused: Item[];
  readonly unknownOn: readonly string[];
  readonly shortOn: ReadonlyMap<string, string>;
}> {
  const unused: Item[] = [];
  const unknownOn = new Set<string>();
  const shortOn = new Map<string, string>();
  for (const some of parts(keys, MAX_LIMIT)) {
    const byId = await statesOf(connection, some);
    for (const key of some) {
      const known = byId.get(String(key.id));
      const since = known?.unused_since ?? null;
      if (since !== null && millisecondsOf(since) <= Date.parse(time)) unused.push(key);
      for (const name of known?.uses_unknown_on ?? []) unknownOn.add(name);
      for (const { name_server: name, since: first } of known?.uses_known_since ?? [])
        if (millisecondsOf(first) > Date.parse(time)) shortOn.set(name, first);
    }
  }
  return { unused, unknownOn: [...unknownOn].toSorted(), shortOn };
}

/** Returns the keys that should be replaced until `time`, and those of an owner. */
export async function describedAs(
  connection: Connection,
  keys: readonly Item[],
  wanted: { readonly due?: string | undefined; readonly owner?: string | undefined },
): Promise<Item[]> {
  const { due, owner } = wanted;
  const found: Item[] = [];
  for (const some of parts(keys, MAX_LIMIT)) {
    const byId = await statesOf(connection, some);
    for (const key of some) {
      const known = byId.get(String(key.id));
      const expiry = known?.expires_at ?? null;
      if (due !== undefined && (expiry === null || millisecondsOf(expiry) > Date.parse(due)))
        continue;
      if (owner === undefined || known?.owner === owner) found.push(key);
    }
  }
  return found;
}

/** Returns the states of at most 1,000 keys, by id. */
export async function statesOf(connection: Connection, keys: readonly Item[]) {
  const body = { ids: keys.map(({ id }) => id) };
  const path = '/v2/tsigkeys/states';
  const { states } = await callFor(KEY_STATES, connection, 'POST', path, body);
  return new Map(states.map((each) => [each.id, each]));
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** Returns a duration in its largest unit, such as `400d`. */
export function ageOf(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => milliseconds >= each) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(milliseconds / size))}${unit}`;
}
