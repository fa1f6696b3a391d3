import { KEY_STATES } from '../actions/states.ts';
import type { ValueOf } from '../../core/field.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import type { Item } from '../../cli/service/resource-requests.ts';

type KeyState = ValueOf<typeof KEY_STATES>['states'][number];

/** The columns of keys that `withStates` adds. */
export const STATE_COLUMNS = ['state', 'age', 'weakness', 'owner', 'expires_at'] as const;

export async function withStates(
  connection: Connection,
  keys: readonly Item[],
  now: number,
): Promise<Item[]> {
  const states = await statesOf(connection, keys);
  return keys.map((key) => {
    const { state, weakness, secret_set_at: since, owner, expires_at } = stateIn(states, key);
    const age = since === undefined ? null : ageOf(now - millisecondsOf(since));
    return { ...key, state, weakness, age, owner, expires_at };
  });
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
  const states = await statesOf(connection, keys);
  const unknownOn = new Set<string>();
  const shortOn = new Map<string, string>();
  for (const { uses_unknown_on: unknown, uses_known_since: since } of states.values()) {
    for (const name of unknown) unknownOn.add(name);
    for (const { name_server: name, since: first } of since)
      if (!isUntil(first, time)) shortOn.set(name, first);
  }
  const unused = keys.filter((key) => isUntil(stateIn(states, key).unused_since, time));
  return { unused, unknownOn: [...unknownOn].toSorted(), shortOn };
}

/** Returns the keys that should be replaced until `due`, and those of an owner. */
export async function describedAs(
  connection: Connection,
  keys: readonly Item[],
  { due, owner }: { readonly due?: string | undefined; readonly owner?: string | undefined },
): Promise<Item[]> {
  const states = await statesOf(connection, keys);
  return keys.filter((key) => {
    const state = stateIn(states, key);
    const isDue = due === undefined || isUntil(state.expires_at, due);
    return isDue && (owner === undefined || state.owner === owner);
  });
}

/** Returns the states of keys by id, with one request for 1,000 keys. */
export async function statesOf(connection: Connection, keys: readonly Item[]) {
  const states = new Map<string, KeyState>();
  for (const some of parts(keys, MAX_LIMIT)) {
    const body = { ids: some.map(({ id }) => id) };
    const path = '/v2/tsigkeys/states';
    const response = await callFor(KEY_STATES, connection, 'POST', path, body);
    for (const state of response.states) states.set(state.id, state);
  }
  return states;
}

/** A key that another caller deletes meanwhile has no state. */
function stateIn(states: ReadonlyMap<string, KeyState>, { id }: Item): Partial<KeyState> {
  return states.get(String(id)) ?? {};
}

function isUntil(timestamp: string | null | undefined, time: string): boolean {
  return typeof timestamp === 'string' && millisecondsOf(timestamp) <= Date.parse(time);
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
