import { createHash } from 'node:crypto';
import { comparisonForm } from '../text/dns-name.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import { keyProblem, type DesiredKey, type DesiredState } from './desired-state.ts';
import type { Candidate } from './ports.ts';

/** What a name server should have, and the keys that it cannot have. */
export interface Desire {
  readonly state: DesiredState;
  readonly undeliverable: readonly Undeliverable[];
}

/** A key that no name server could use. */
export interface Undeliverable {
  readonly key: Tsigkey;
  /** The reason, without secrets. */
  readonly reason: string;
}

/**
 * Returns what a name server should have: the keys of its pool and of the zones of its pool, with
 * its rights. Leaves out keys that no name server could use. Of two keys with the same name on the
 * wire, the first one counts. Throws `ServiceError` `unreadable_secret` if a secret cannot be
 * decrypted.
 */
export function desire(
  server: Pick<NameServer, 'rights'>,
  zones: readonly string[],
  candidates: readonly Candidate[],
): Desire {
  const undeliverable: Undeliverable[] = [];
  const keys = new Map<string, DesiredKey>();
  for (const { key, zones: applied } of candidates) {
    const desired: DesiredKey = {
      id: key.id,
      name: comparisonForm(key.name),
      algorithm: key.algorithm,
      secret: key.secret, // `keyProblem` throws if it cannot be decrypted
      version: key.version,
      rights: server.rights,
      zones: applied === 'all' ? 'all' : applied.map(comparisonForm).toSorted(),
    };
    const reason =
      keyProblem(desired) ??
      (keys.has(desired.name) ? 'another key has the same name on the wire' : undefined);
    if (reason === undefined) keys.set(desired.name, desired);
    else undeliverable.push({ key, reason });
  }
  return {
    state: {
      zones: zones.map(comparisonForm),
      keys: [...keys.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    },
    undeliverable,
  };
}

/**
 * Returns a hash of a desired state. It covers the versions of keys instead of their secrets, so
 * that the stored hash reveals nothing about a secret.
 */
export function hashOf({ zones, keys }: DesiredState): string {
  const hash = createHash('sha256');
  for (const zone of zones) hash.update(`${zone}\n`);
  for (const { id, name, algorithm, version, rights, zones: applied } of keys)
    hash.update(`${JSON.stringify([id, name, algorithm, version, rights, applied])}\n`);
  return hash.digest('hex');
}

/** The number of keys that a pass may always remove. */
const ALWAYS_REMOVABLE = 10;

/**
 * Returns whether a pass would remove so many keys that an operator must confirm it: more than ten,
 * and more than half of those on the name server.
 */
export function isMassRemoval(removed: number, before: number): boolean {
  return removed > ALWAYS_REMOVABLE && removed > before / 2;
}
