import { recordChanges } from './audit/change-hook.ts';
import { announceChanges } from './delivery/change-hook.ts';
import type { ChangeHook } from './resources/operations/change.ts';
import { leaveLineages } from './rotation/change-hook.ts';

/** What features add to every change of a resource, in the order of their statements. */
export const CHANGE_HOOKS: readonly ChangeHook[] = [leaveLineages, recordChanges, announceChanges];
