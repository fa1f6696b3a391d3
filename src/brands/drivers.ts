import type { BrandName } from './brands.ts';
import { bind } from './bind/driver.ts';
import type { DriverDefinition } from './driver.ts';
import { knot } from './knot/driver.ts';
import { nsd } from './nsd/driver.ts';
import { powerdns } from './powerdns/driver.ts';

export const DRIVERS: Readonly<Record<string, DriverDefinition>> = {
  bind,
  knot,
  nsd,
  powerdns,
} satisfies Record<BrandName, DriverDefinition>;
