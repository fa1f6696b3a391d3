import { bind } from './bind/brand.ts';
import type { Brand } from './brand.ts';
import { knot } from './knot/brand.ts';
import { nsd } from './nsd/brand.ts';
import { powerdns } from './powerdns/brand.ts';

/** The name server programs to which the service can deliver keys, by their names in the API. */
export const BRANDS = { bind, knot, nsd, powerdns } satisfies Record<string, Brand>;

export type BrandName = keyof typeof BRANDS;

export const BRAND_NAMES = Object.keys(BRANDS) as BrandName[];

const ALL: readonly Brand[] = Object.values(BRANDS);

export function findBrand(name: string): Brand | undefined {
  return Object.hasOwn(BRANDS, name) ? BRANDS[name as BrandName] : undefined;
}

/** The programs whose drivers report keys that the database lacks: "PowerDNS". */
export const REPORTING_UNKNOWN_KEYS = ALL.filter(({ supports }) => supports.unknownKeys === true)
  .map(({ title }) => title)
  .join(' or ');
