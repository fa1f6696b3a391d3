import { pool } from './pool.ts';
import type { ResourceType } from './resource.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';

/** Every resource type there is; one that refers to others comes after them. */
export const RESOURCE_TYPES: readonly [ResourceType, ...ResourceType[]] = [tld, tsigkey, pool, zone, token];
