import { createSlicer, type Slicer } from '../domain/scheduling/slicer.ts';

/** Returns a slicer for the work of a pass, which takes some milliseconds with 10,000 keys. */
export function newSlicer(): Slicer {
  return createSlicer(() => performance.now());
}
