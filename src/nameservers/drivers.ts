import { bind } from './bind.ts';
import type { DriverDefinition } from './driver.ts';

/** The drivers by their names in the API and in the configuration. */
export const DRIVERS: Readonly<Record<string, DriverDefinition>> = { bind };
