import { bind } from './bind.ts';
import type { Brand } from './brand.ts';
import { knot } from './knot.ts';
import { nsd } from './nsd.ts';
import { powerdns } from './powerdns.ts';

/** The brands that have a driver. */
export const BRANDS: readonly Brand[] = [bind, knot, nsd, powerdns];

/**
 * The brands of suites that a long run repeats on PostgreSQL, where one brand does: what a database
 * returns does not depend on the brand.
 */
export const BRANDS_OF_STORE = process.env.TEST_DATABASE === 'postgres' ? [bind] : BRANDS;
