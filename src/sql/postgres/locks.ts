import { createHash } from 'node:crypto';
import type { Lock } from '../../core/ports.ts';

/**
 * The maximum number of keys of one resource type that a transaction locks one by one. For more
 * keys, the transaction locks the whole type. By default, PostgreSQL has room for 64 locks per
 * connection (`max_locks_per_transaction`).
 */
const MAX_KEYS = 32;

interface Locks {
  /** Returns the statement for the missing locks, or undefined if all `locks` are held. */
  acquire(locks: readonly Lock[]): string | undefined;
}

interface Held {
  /** The lock on the type. Undefined before the first lock. */
  whole: 'shared' | 'exclusive' | undefined;
  readonly keys: Map<string, boolean>;
}

/**
 * Creates the locks of one transaction. PostgreSQL releases these advisory locks at the end of the
 * transaction. Each key belongs to a resource type. While a transaction holds a key, it also holds
 * a shared lock on the type. So a transaction with an exclusive lock on the type needs no keys. One
 * statement acquires locks in the order of their numbers, so two such statements cannot deadlock.
 */
export function createLocks(): Locks {
  const types = new Map<string, Held>();
  return {
    acquire(locks) {
      const wholes = new Map<bigint, boolean>();
      const keys = new Map<bigint, boolean>();
      for (const [collection, wanted] of byCollection(locks)) {
        const held = types.get(collection) ?? { whole: undefined, keys: new Map() };
        types.set(collection, held);
        if (held.whole === 'exclusive') continue;
        const added = [...wanted.keys].filter(
          ([key, exclusive]) => !held.keys.has(key) || (exclusive && !held.keys.get(key)),
        );
        const isWhole = wanted.exclusive || held.keys.size + added.length > MAX_KEYS;
        if (isWhole || held.whole === undefined) wholes.set(numberOf(collection), isWhole);
        held.whole = isWhole ? 'exclusive' : 'shared';
        if (isWhole) continue;
        for (const [key, exclusive] of added) {
          held.keys.set(key, exclusive);
          keys.set(numberOf(`${collection} ${key}`), exclusive);
        }
      }
      const calls = [...inOrder(wholes), ...inOrder(keys)];
      return calls.length === 0 ? undefined : `SELECT ${calls.join(', ')}`;
    },
  };
}

/** An exclusive lock on a key replaces a shared lock on the same key. */
function byCollection(
  locks: readonly Lock[],
): Map<string, { exclusive: boolean; readonly keys: Map<string, boolean> }> {
  const wanted = new Map<string, { exclusive: boolean; readonly keys: Map<string, boolean> }>();
  for (const { type, key, exclusive } of locks) {
    const own = wanted.get(type.collection) ?? { exclusive: false, keys: new Map() };
    wanted.set(type.collection, own);
    if (key === undefined) own.exclusive ||= exclusive;
    else own.keys.set(key, exclusive || own.keys.get(key) === true);
  }
  return wanted;
}

function inOrder(locks: ReadonlyMap<bigint, boolean>): string[] {
  return [...locks]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([number, exclusive]) =>
      exclusive ? `pg_advisory_xact_lock(${number})` : `pg_advisory_xact_lock_shared(${number})`,
    );
}

/** If two subjects have the same number, their transactions wait for each other unnecessarily. */
function numberOf(subject: string): bigint {
  return createHash('sha256').update(subject).digest().readBigInt64BE();
}
