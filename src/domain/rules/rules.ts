import { admitNameServer } from './name-server-rules.ts';
import { admitPool } from './pool-rules.ts';
import { nameServer } from '../resources/name-server.ts';
import { pool } from '../resources/pool.ts';
import type { Reader } from '../model/ports.ts';
import type { Admission, Admitted, Change, Fields, ResourceType } from '../model/resource.ts';
import { admitToken } from './token-rules.ts';
import { token } from '../resources/token.ts';
import { admitTsigkey } from './tsigkey-rules.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { admitZone } from './zone-rules.ts';
import { zone } from '../resources/zone.ts';

/** The rules of one resource type that need other resources. */
export interface Rule<F extends Fields = Fields> {
  /**
   * Applies the rules in the transaction of `change`. Returns the resource to store, with an
   * unchanged unique field. Throws `ServiceError` to reject the change.
   */
  admit(change: Change<F>, transaction: Reader, admission: Admission): Promise<Admitted<F>>;
}

/** The rules by resource type. Every change is checked against the rules of its type. */
export const RULES: Map<ResourceType, Rule> = new Map([
  rule(tsigkey, admitTsigkey),
  rule(pool, admitPool),
  rule(zone, admitZone),
  rule(nameServer, admitNameServer),
  rule(token, admitToken),
]);

/** Returns the rules of `type`, or undefined for a type without rules. */
export function rulesOf<F extends Fields>(type: ResourceType<F>): Rule<F> | undefined {
  // the table holds the rules of each type under that type
  return RULES.get(type) as Rule<F> | undefined;
}

function rule<F extends Fields>(
  type: ResourceType<F>,
  admit: Rule<F>['admit'],
): [ResourceType, Rule] {
  const own: Rule<F> = { admit };
  return [type, own];
}
