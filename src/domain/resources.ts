import type { ResourceType } from './resource.ts';
import { tld } from './tld.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';

/** Every resource type that the generic collection operations serve. */
export const RESOURCE_TYPES: readonly [ResourceType, ...ResourceType[]] = [tld, tsigkey, token];
