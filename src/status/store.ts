import { tsigkey } from '../resources/tsigkey.ts';
import { conditionsText, whereText } from '../sql/conditions.ts';
import type { Fragment } from '../sql/fragments.ts';
import type { Database } from '../sql/sql.ts';
import type { KeyNeed, KeysThat } from './ports.ts';

const MAX_KEYS = 1000;

const IS_REPLACED = `EXISTS (SELECT 1 FROM tsigkey_lifecycles AS own
  WHERE own.id = tsigkeys.id AND own.state <> 'active')`;

/** The condition of the index of marked keys. */
const IS_MARKED = 'weak + unusable + orphaned > 0';

/**
 * The SQL condition of each need. Each selects few keys, by an index of these only or by a range of
 * one. A database uses an index of some rows only if the statement repeats its condition, and only
 * with a value for each column before the one that decides.
 */
const MARKS: Readonly<Record<Exclude<KeyNeed['is'], 'expires' | 'aged'>, string>> = {
  weak: `weak = 1 AND ${IS_MARKED}`,
  published: `weak = 1 AND published = 1 AND ${IS_MARKED}`,
  unusable: `weak IN (0, 1) AND unusable = 1 AND ${IS_MARKED}`,
  orphaned: `weak IN (0, 1) AND unusable IN (0, 1) AND orphaned = 1 AND ${IS_MARKED}`,
  failing: `id IN (SELECT key_id FROM deliveries
    WHERE (state <> 'delivered' OR error_code IS NOT NULL)
    AND state IN ('delivered', 'failed', 'undeliverable', 'held')
    AND nameserver_id IN (SELECT id FROM nameservers WHERE paused = 0))`,
  waiting: 'id IN (SELECT id FROM tsigkey_lifecycles WHERE waiting_reason IS NOT NULL)',
};

function conditionOf(need: KeyNeed): Fragment {
  if (need.is === 'expires')
    return [
      `id IN (SELECT id FROM tsigkey_lifecycles WHERE expires_at < ? AND state = 'active')`,
      need.before,
    ];
  // A secret is no older than its key, and an index of its own would slow down every new key.
  if (need.is === 'aged')
    return [
      `created_at < ? AND secret_set_at < ? AND NOT ${IS_REPLACED}`,
      need.before,
      need.before,
    ];
  return [MARKS[need.is]];
}

export function keysThatIn({ reads, dialect }: Pick<Database, 'reads' | 'dialect'>): KeysThat {
  return async (need, conditions) => {
    const { texts, parameters } = conditionsText(tsigkey, conditions, dialect, () => false);
    const [condition, ...values] = conditionOf(need);
    const rows = await reads.all(
      `SELECT id, name FROM tsigkeys${whereText([condition, ...texts])} LIMIT ${MAX_KEYS}`,
      [...values, ...parameters],
      conditions.length === 0 ? undefined : 'once',
    );
    return rows.map(({ id, name }) => ({ id: String(id), name: String(name) }));
  };
}
