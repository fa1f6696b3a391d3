import type { ChangeHook } from '../resources/operations/change.ts';
import { noneAffected, noteAffected } from './affected.ts';

/** Writes rows of the outbox for the name servers that a change affects. */
export const announceChanges: ChangeHook = () => {
  const affected = noneAffected();
  return {
    noted(type, change) {
      noteAffected(affected, type, change);
    },
    deliver({ scope, resource_id: id }) {
      (scope === 'POOL' ? affected.pools : affected.zones).add(id);
    },
    finish: (writer) => writer.announce(affected),
  };
};
