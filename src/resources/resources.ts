import { lifecycle, lineage, retiredKey } from './lineage.ts';
import { nameServer } from './name-server.ts';
import { pool } from './pool.ts';
import { session } from './session.ts';
import type { ResourceType } from '../core/resource.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';

/** All resource types. A type that refers to other types comes after those types. */
export const RESOURCE_TYPES: readonly [ResourceType, ...ResourceType[]] = [
  tld,
  tsigkey,
  pool,
  zone,
  nameServer,
  token,
];

/**
 * All types with a table: also those without routes. A type with rows that belong to rows of another
 * type comes after it.
 */
export const STORED_TYPES: readonly ResourceType[] = [
  ...RESOURCE_TYPES,
  lineage,
  lifecycle,
  retiredKey,
  session,
];

/** The stored types that belong to the data, and not to one running service. */
export const COPIED_TYPES: readonly ResourceType[] = STORED_TYPES.filter(
  (type) => type !== session,
);

/** The resource types in the order of documents: first what callers come for. */
export const DOCUMENTED_TYPES: readonly [ResourceType, ...ResourceType[]] = [
  tsigkey,
  nameServer,
  zone,
  pool,
  tld,
  token,
];

/** Returns the type with this collection. Throws `Error` if no type has it. */
export function typeOfCollection(collection: string): ResourceType {
  const type = STORED_TYPES.find((each) => each.collection === collection);
  if (type === undefined) throw new Error(`Unknown collection '${collection}'`);
  return type;
}
