import type { ChangeHook } from '../resources/operations/change.ts';
import { leaveLineage } from './lineage-rows.ts';

/** Takes each deleted key out of its lineage. */
export const leaveLineages: ChangeHook = (_context, { clock }) => ({
  leaving: (rows, keyId) => leaveLineage(rows, keyId, clock),
});
