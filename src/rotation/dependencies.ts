import type { DeliveryStatus } from '../delivery/delivery-ports.ts';
import type { Dependencies } from '../resources/operations/change.ts';

export interface RotationDependencies extends Dependencies {
  /** What is known of the keys on name servers, and of their uses. If absent, nothing is. */
  readonly delivery?: DeliveryStatus | undefined;
}
