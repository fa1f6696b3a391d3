import { KEY_STATES } from '../key-states.ts';
import type { Kind } from '../../core/field.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';
import { text } from '../../cli/flags/flag.ts';
import type { Selection } from '../../cli/flags/resource-command.ts';
import { readTime } from '../../cli/flags/time.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import type { Item } from '../../cli/service/resource-requests.ts';

/** The columns of keys that `withStates` adds. */
export const STATE_COLUMNS = ['state', 'age', 'weakness', 'owner', 'expires_at'] as const;

export async function withStates(
  connection: Connection,
  keys: readonly Item[],
  now: number,
): Promise<Item[]> {
  const stateOf = await statesOf(KEY_STATES, connection, keys);
  return keys.map((key) => {
    const { state, weakness, secret_set_at: since, owner, expires_at } = stateOf(key) ?? {};
    const age = since === undefined ? null : ageOf(now - millisecondsOf(since));
    return { ...key, state, weakness, age, owner, expires_at };
  });
}

interface DescriptionFlags extends Item {
  readonly due?: string;
  readonly owner?: string;
}

export const DESCRIBED_KEYS: Selection = {
  flags: {
    due: text(
      '<time>',
      'list only keys that should be replaced until this time or within this long, such as 30d: by their expiry, or the tsigkeys.maxAgeDays of the service',
    ),
    owner: text('<text>', 'list only keys of this owner'),
  },
  read({ due, owner }: DescriptionFlags, terminal) {
    if (due === undefined && owner === undefined) return undefined;
    const until = due === undefined ? undefined : readTime(due, terminal.now());
    return async (connection, keys) => {
      const stateOf = await statesOf(KEY_STATES, connection, keys);
      return keys.filter((key) => {
        const state = stateOf(key);
        const isDue = until === undefined || isUntil(state?.expires_at, until);
        return isDue && (owner === undefined || state?.owner === owner);
      });
    };
  },
};

/** Returns what `kind` reads of the states of keys, with one request for 1,000 keys. */
export async function statesOf<S extends { readonly id: string }>(
  kind: Kind<{ readonly states: readonly S[] }>,
  connection: Connection,
  keys: readonly Item[],
): Promise<(key: Item) => S | undefined> {
  const states = new Map<unknown, S>();
  for (const some of parts(keys, MAX_LIMIT)) {
    const body = { ids: some.map(({ id }) => id) };
    const response = await callFor(kind, connection, 'POST', '/v2/tsigkeys/states', body);
    for (const state of response.states) states.set(state.id, state);
  }
  // A key that another caller deletes meanwhile has no state.
  return ({ id }) => states.get(id);
}

export function isUntil(timestamp: string | null | undefined, time: string): boolean {
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
