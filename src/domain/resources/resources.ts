import { pool } from './pool.ts';
import type { ResourceType } from '../model/resource.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';

/** Every resource type there is; one that refers to others comes after them. */
export const RESOURCE_TYPES: readonly [ResourceType, ...ResourceType[]] = [
  tld,
  tsigkey,
  pool,
  zone,
  token,
];

/** The types of resources that can be made with their ids and timestamps, as a copy of those of another service. */
export const IMPORTABLE_TYPES: readonly ResourceType[] = [tld, tsigkey];

/** The right to make resources of a type so. */
export function importRight({ collection }: ResourceType): string {
  return `${collection}:import`;
}

/** The resource type with this collection. Throws `Error` if there is none. */
export function typeOfCollection(collection: string): ResourceType {
  const type = RESOURCE_TYPES.find((each) => each.collection === collection);
  if (type === undefined) throw new Error(`There is no collection '${collection}'`);
  return type;
}
