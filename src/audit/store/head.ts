import {
  headText,
  NO_PREVIOUS,
  TRAIL_EVENTS,
  type ChainEnd,
  type TrailEvent,
  type TrailHead,
} from '../chain.ts';
import type { AuditKey } from '../../core/keyring.ts';
import { isObject } from '../../core/field.ts';
import type { Sql } from '../../sql/sql.ts';

/** The highest number of a batch. Another program can insert any number. */
export const MAX_NUMBER = 2 ** 31 - 1;

/** Beyond this number, a head keeps its first events and its newest ones. */
const MAX_EVENTS = 100;

/** A head as stored: `events` is the JSON that the MAC covers. */
export interface StoredHead extends Omit<TrailHead, 'events'> {
  readonly events: string;
}

/** What a head says about its trail, without the MAC. */
type HeadFields = Omit<StoredHead, 'mac' | 'key_number'>;

const COLUMNS = [
  'number',
  'hash',
  'first_mac',
  'purged',
  'retention_days',
  'events',
  'mac',
  'key_number',
] as const satisfies readonly (keyof StoredHead)[];

const WRITE = `INSERT INTO audit_head (id, ${COLUMNS.join(', ')})
  VALUES (1, ${COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** Returns the stored head. Undefined if another program deleted it. */
export async function readHead(sql: Sql): Promise<StoredHead | undefined> {
  const row = await sql.one(`SELECT ${COLUMNS.join(', ')} FROM audit_head WHERE id = 1`, []);
  return row as StoredHead | undefined; // the migration defines these columns
}

export async function lastBatchOf(sql: Sql): Promise<ChainEnd | undefined> {
  const row = await sql.one(
    'SELECT number, hash FROM audit_batches WHERE number <= ? ORDER BY number DESC LIMIT 1',
    [MAX_NUMBER],
  );
  return row as ChainEnd | undefined; // the migration defines these columns
}

/** Returns whether only a holder of the key can have written this head. */
export function isGenuine(
  head: StoredHead | undefined,
  key: AuditKey | undefined,
): head is StoredHead {
  if (key === undefined) return head?.mac === null;
  return head?.key_number === key.number && head.mac === key.hmac(headText(head, head.events));
}

/**
 * Returns what may be believed about a trail: its head if it is genuine, else that nothing was
 * purged and that every batch must have a MAC.
 */
export function trustedHead(head: StoredHead | undefined, key: AuditKey | undefined): HeadFields {
  if (isGenuine(head, key)) return head;
  return {
    number: 0,
    hash: NO_PREVIOUS,
    first_mac: key === undefined ? null : 1,
    purged: 0,
    retention_days: null,
    events: '[]',
  };
}

/** Returns the events of a head. Ignores what another program has put into a head without a MAC. */
export function eventsOf({ events }: Pick<StoredHead, 'events'>): readonly TrailEvent[] {
  try {
    const stored: unknown = JSON.parse(events);
    return (Array.isArray(stored) ? stored : []).filter(
      (each): each is TrailEvent =>
        isObject(each) && Object.hasOwn(TRAIL_EVENTS, String(each.event)),
    );
  } catch {
    return [];
  }
}

/**
 * Changes the head and signs it. A head that is not genuine is never signed again without the
 * event that says so.
 */
export async function changeHead(
  sql: Sql,
  key: AuditKey | undefined,
  at: string,
  changes: Partial<Omit<HeadFields, 'events'>>,
  event?: Omit<TrailEvent, 'at'>,
): Promise<void> {
  const stored = await readHead(sql);
  const former = trustedHead(stored, key);
  const batch = changes.number === undefined ? former.number : changes.number - 1;
  const changed = { event: 'head_changed', at, batch } as const;
  await signHead(sql, key, { ...former, ...changes }, [
    ...(isGenuine(stored, key) ? [] : [changed]),
    ...(event === undefined ? [] : [{ ...event, at }]),
  ]);
}

async function signHead(
  sql: Sql,
  key: AuditKey | undefined,
  former: HeadFields,
  newEvents: readonly TrailEvent[],
): Promise<void> {
  const all = [...eventsOf(former), ...newEvents];
  all.splice(MAX_EVENTS / 2, all.length - MAX_EVENTS);
  const events = JSON.stringify(all);
  const head = { ...former, events };
  const mac = key?.hmac(headText(head, events)) ?? null;
  const values = { ...head, mac, key_number: key?.number ?? null };
  await sql.run(
    WRITE,
    COLUMNS.map((name) => values[name]),
  );
}

/**
 * Signs the head under a new key of the trail. `isFirst` is false if the database had keys before.
 * The former key was then lost, and with it the proof of every earlier batch.
 */
export async function adoptKey(
  sql: Sql,
  key: AuditKey,
  isFirst: boolean,
  at: string,
): Promise<void> {
  const stored = await readHead(sql);
  const number = stored?.number ?? 0;
  const isLost = !isFirst || stored?.mac !== null;
  await signHead(
    sql,
    key,
    { ...trustedHead(undefined, undefined), ...stored, first_mac: number + 1 },
    isLost || number > 0 ? [{ event: isLost ? 'key_lost' : 'key_created', at, batch: number }] : [],
  );
}

/**
 * Notes for ever that a backup was restored over a trail that ended with `replaced`. A verification
 * then lists the checkpoints between the two ends as rolled back.
 */
export async function noteRestore(
  sql: Sql,
  key: AuditKey | undefined,
  at: string,
  replaced: ChainEnd,
): Promise<void> {
  const batch = (await readHead(sql))?.number ?? 0;
  await changeHead(sql, key, at, {}, { event: 'restored', batch, replaced });
}
