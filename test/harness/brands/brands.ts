import { bind } from './bind.ts';
import type { Brand } from './brand.ts';
import { knot } from './knot.ts';
import { nsd } from './nsd.ts';
import { powerdns } from './powerdns.ts';

/** The brands that have a driver. */
export const BRANDS: readonly Brand[] = [bind, knot, nsd, powerdns];
