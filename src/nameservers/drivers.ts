import { bind } from './bind.ts';
import type { DriverDefinition } from './driver.ts';
import { knot } from './knot/knot.ts';
import { nsd } from './nsd.ts';
import { powerdns } from './powerdns/powerdns.ts';

/** The drivers by their names in the API and in the configuration. */
export const DRIVERS: Readonly<Record<string, DriverDefinition>> = { bind, knot, nsd, powerdns };
