import { pool } from './pool.ts';
import type { ResourceType } from './resource.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';

/** Every resource type there is. */
export const RESOURCE_TYPES: readonly ResourceType[] = [tld, tsigkey, zone, pool, token];
