import type { BrandName } from '../brands/brands.ts';

interface Brand {
  readonly title: string;
  /** The name of the file with its keys. Absent for a program with an API. */
  readonly file?: string;
  /** What it lacks, as a sentence. */
  readonly lacks?: string;
}

/** The name server programs. Their entries in the service are too large for the console. */
const BRANDS: Readonly<Record<string, Brand>> = {
  bind: { title: 'BIND', file: 'named.conf' },
  knot: { title: 'Knot DNS', file: 'knot.conf' },
  nsd: { title: 'NSD', file: 'nsd.conf', lacks: 'NSD has no dynamic updates.' },
  powerdns: { title: 'PowerDNS' },
} satisfies Readonly<Record<BrandName, Brand>>;

const ALL = Object.values(BRANDS);

export const TITLES = Object.entries(BRANDS).map(([name, { title }]) => [name, title] as const);

export const FILES = ALL.flatMap(({ file }) => file ?? []);

export const LACKS = ALL.flatMap(({ lacks }) => lacks ?? []);

/** Returns the name of the program that a driver is for. */
export function titleOf(driver: string): string {
  return BRANDS[driver]?.title ?? driver;
}

export function hasFile(driver: string): boolean {
  return BRANDS[driver]?.file !== undefined;
}
