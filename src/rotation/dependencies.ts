import { DAY_MS } from '../core/text/timestamps.ts';
import type { DeliveryStatus } from '../delivery/delivery-ports.ts';
import type { Dependencies } from '../resources/operations/change.ts';
import type { Clients } from './clients.ts';

export interface RotationDependencies extends Dependencies {
  readonly delivery: DeliveryStatus;
  readonly clients: Clients;
  readonly rotations: Rotations;
}

export interface Rotations {
  /** How long a key counts as in use after its last use, in milliseconds. */
  readonly windowMs: number;
  /** How often a rotation that waits for time or for clients is looked at, in milliseconds. */
  readonly pollMs: number;
}

export const DEFAULT_ROTATIONS: Rotations = { windowMs: DAY_MS, pollMs: 60_000 };
