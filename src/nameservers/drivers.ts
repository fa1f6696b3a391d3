import type { BrandName } from '../domain/brands/brands.ts';
import { bind } from './bind/bind.ts';
import type { DriverDefinition } from './driver.ts';
import { knot } from './knot/knot.ts';
import { nsd } from './nsd/nsd.ts';
import { powerdns } from './powerdns/powerdns.ts';

export const DRIVERS: Readonly<Record<string, DriverDefinition>> = {
  bind,
  knot,
  nsd,
  powerdns,
} satisfies Record<BrandName, DriverDefinition>;
