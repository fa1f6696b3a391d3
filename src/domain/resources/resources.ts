import { nameServer } from './name-server.ts';
import { pool } from './pool.ts';
import type { ResourceType } from '../model/resource.ts';
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

/** The resource types in the order of documents: first what callers come for. */
export const DOCUMENTED_TYPES: readonly [ResourceType, ...ResourceType[]] = [
  tsigkey,
  nameServer,
  zone,
  pool,
  tld,
  token,
];

/**
 * The resource types that can be imported. An import copies resources of another service with their
 * ids and timestamps.
 */
export const IMPORTABLE_TYPES: readonly ResourceType[] = [tld, tsigkey];

/** Returns the right to import resources of a type. */
export function importRight({ collection }: ResourceType): string {
  return `${collection}:import`;
}

/** Returns the resource type with this collection. Throws `Error` if no type has it. */
export function typeOfCollection(collection: string): ResourceType {
  const type = RESOURCE_TYPES.find((each) => each.collection === collection);
  if (type === undefined) throw new Error(`Unknown collection '${collection}'`);
  return type;
}
