import {
  LeaseLostError,
  type Delivery,
  type PassFailure,
  type PassRecord,
} from '../delivery-ports.ts';
import type { Clock } from '../../core/ports.ts';
import { nextIfOver, parts } from '../../core/scheduling/slicer.ts';
import { millisecondsOf, timestampOf } from '../../core/text/timestamps.ts';
import { pages } from '../../sql/reader.ts';
import { newSlicer } from '../../net/slices.ts';
import { joined, type Fragment, places } from '../../sql/fragments.ts';
import type { Sql, SqlRow, SqlValue } from '../../sql/sql.ts';
import { stampsIn } from './claims.ts';
import { addRows } from './outbox.ts';

/** Only three numbers of rows in one statement, so that few statements are prepared. */
export const ROWS = [1, 8, 64];

const COLUMNS = [
  'nameserver_id',
  'key_id',
  'key_name',
  'state',
  'delivered_version',
  'applied_at',
  'verified_at',
  'error_code',
  'error',
  'successor_id',
  'compromised',
];

/**
 * Records a pass, and releases or keeps the lease. A pass with a key that was not verified counts
 * as a failed attempt. The SQL condition `owned` compares the name server with the id, holder and
 * fence in `lease`. Throws `LeaseLostError` if another process holds the lease.
 */
export async function recordServer(
  sql: Sql,
  now: string,
  owned: string,
  lease: readonly SqlValue[],
  pass: PassRecord,
): Promise<void> {
  const { text, parameters } = joined(passChanges(now, pass), ', ');
  const recorded = await sql.run(
    `UPDATE nameservers SET ${text} WHERE ${owned}${mayKeep(pass.keepLeaseMs)}`,
    [...parameters, ...lease],
  );
  if (recorded === 0) throw new LeaseLostError();
  await keepStamp(sql, pass.stamp, lease);
}

/**
 * Returns what a pass changes in the row of its name server. What the pass did not find out stays,
 * by `coalesce` and `CASE`, so that all passes share one statement.
 */
function passChanges(now: string, { found, applied, next, keepLeaseMs }: PassRecord): Fragment[] {
  const { state, error } = found;
  return [
    [leaseOf(now, keepLeaseMs)],
    ['state = ?', state],
    ['error_code = ?', error?.code ?? null],
    ['error = ?', error?.message ?? null],
    ['keys_wanted = ?', found.keysWanted],
    ['keys_live = ?', found.keysLive],
    ['held = CASE WHEN held IS NULL THEN NULL ELSE ? END', jsonOf(found.held)],
    ['unknown_keys = coalesce(?, unknown_keys)', jsonOf(found.unknownKeys)],
    ['key_references = ?', jsonOf(found.keyReferences)],
    ['verified_at = coalesce(?, verified_at)', found.verifiedAt ?? null],
    ['applied_hash = ?', applied.hash],
    ['applied_rights = coalesce(?, applied_rights)', jsonOf(applied.rights)],
    ['applied_at = coalesce(?, applied_at)', applied.at ?? null],
    ['attempts = CASE WHEN ? = 1 THEN attempts + 1 ELSE 0 END', next.isFailed ? 1 : 0],
    ['next_attempt_at = NULL, retry_at = 0, failed_at = 0'],
    // An operator may confirm the rest during a pass that leaves it blocked.
    ["confirmed = CASE WHEN ? = 'blocked' THEN confirmed ELSE 0 END", state],
    [
      `check_at = CASE WHEN ? = 'blocked' AND confirmed = 1 THEN 0 ELSE ${now} + ? END`,
      state,
      next.checkMs,
    ],
    [`probe_at = coalesce(${now} + ?, probe_at)`, next.probeMs ?? null],
  ];
}

function jsonOf(value: object | null | undefined): string | null {
  return value == null ? null : JSON.stringify(value);
}

/** Puts the present stamp of a name server before the others, so that it is never forgotten. */
async function keepStamp(
  sql: Sql,
  stamp: string | undefined,
  [id]: readonly SqlValue[],
): Promise<void> {
  if (stamp === undefined || id === undefined) return;
  const row = await sql.one('SELECT stamps FROM nameservers WHERE id = ?', [id]);
  const others = row === undefined ? [] : stampsIn(row);
  if (!others.includes(stamp)) return; // never one that this database did not make
  const stamps = [stamp, ...others.filter((each) => each !== stamp)].join(' ');
  await sql.run('UPDATE nameservers SET stamps = ? WHERE id = ?', [stamps, id]);
}

/** Returns the SQL assignments that release a lease, or renew the lease for `keepMs`. */
function leaseOf(now: string, keepMs: number): string {
  return keepMs > 0
    ? `lease_until = ${now} + ${Math.round(keepMs)}`
    : 'holder = NULL, lease_until = 0';
}

/** An agent may keep its lease only while an agent still delivers to the name server. */
function mayKeep(keepMs: number): string {
  return keepMs > 0 ? " AND delivery = 'agent'" : '';
}

/**
 * Records a failure, and releases or keeps the lease. Returns the number of consecutive failures.
 * Throws `LeaseLostError` if another process holds the lease.
 */
export async function recordFailure(
  sql: Sql,
  now: string,
  lease: readonly SqlValue[],
  { state, error, keysWanted, outbox, notBegun = [], retryMs, stamp, keepLeaseMs = 0 }: PassFailure,
  clock: Clock,
): Promise<number> {
  const row = await sql.one(
    `SELECT attempts FROM nameservers
      WHERE id = ? AND holder = ? AND fence = ?${mayKeep(keepLeaseMs)}`,
    lease,
  );
  if (row === undefined) throw new LeaseLostError();
  for (const ids of parts(notBegun, ...ROWS))
    await sql.run(
      `DELETE FROM deliveries
        WHERE nameserver_id = ? AND key_id IN (${places(ids.length)}) AND state = 'pending'`,
      [lease[0] ?? null, ...ids],
    );
  const attempts = Number(row.attempts) + 1;
  const wait = Math.round(retryMs(attempts));
  const next = timestampOf(millisecondsOf(clock()) + wait);
  const changes: Fragment[] = [
    ['state = ?', state],
    ['error_code = ?', error.code],
    ['error = ?', error.message.slice(0, 1000)],
    ['keys_wanted = coalesce(?, keys_wanted)', keysWanted ?? null],
    ['attempts = ?', attempts],
    ['next_attempt_at = ?', next],
    [`retry_at = ${now} + ?`, wait],
    [`check_at = ${now} + ?`, wait],
    [`failed_at = ${now}`],
  ];
  const { text, parameters } = joined(changes, ', ');
  await sql.run(
    `UPDATE nameservers SET ${text}, ${leaseOf(now, keepLeaseMs)}
      WHERE id = ? AND holder = ? AND fence = ?`,
    [...parameters, ...lease],
  );
  await markTried(sql, lease, outbox);
  await keepStamp(sql, stamp, lease);
  return attempts;
}

/** Marks the changes that a failed pass has read, or all: the failure says nothing about others. */
async function markTried(
  sql: Sql,
  [id = null]: readonly SqlValue[],
  outbox: readonly string[] | undefined,
): Promise<void> {
  const mark = 'UPDATE outbox SET tried = 1 WHERE nameserver_id = ? AND tried = 0';
  if (outbox === undefined) await sql.run(mark, [id]);
  for (const ids of parts(outbox ?? [], ...ROWS))
    await sql.run(`${mark} AND id IN (${places(ids.length)})`, [id, ...ids]);
}

/**
 * Adds deliveries of keys that the name server `id` may have but should not have. Also adds a row
 * to the outbox, and removes the hash of the applied state. Skips keys that already have a
 * delivery. Does nothing if the service does not deliver to this name server.
 */
export async function recordLeftovers(
  sql: Sql,
  now: string,
  id: string,
  leftovers: readonly Delivery[],
  stamp: string,
): Promise<void> {
  const added = await addRows(sql, now, "id = ? AND delivery = 'service'", [id]);
  if (added === 0) return;
  await sql.run(
    `UPDATE nameservers SET applied_hash = NULL, stamps = stamps || ' ' || ? WHERE id = ?`,
    [stamp, id],
  );
  await putDeliveries(sql, id, leftovers, 'keep');
}

/** `present` states what to do with a delivery that a key already has. */
export async function putDeliveries(
  sql: Sql,
  id: string,
  deliveries: readonly Delivery[],
  present: 'replace' | 'keep' = 'replace',
): Promise<void> {
  const row = `(${places(COLUMNS.length)})`;
  const updates = COLUMNS.slice(2).map((column) => `${column} = excluded.${column}`);
  // A transaction that removes a key during a pass sets its delivery to removing.
  const replace = `UPDATE SET ${updates.join(', ')}
    WHERE deliveries.state <> 'removing' OR excluded.state IN ('removing', 'pending')`;
  const action = present === 'keep' ? 'NOTHING' : replace;
  const slicer = newSlicer().forTransaction();
  for (const some of parts(deliveries, ...ROWS)) {
    await nextIfOver(slicer);
    await sql.run(
      `INSERT INTO deliveries (${COLUMNS.join(', ')}) VALUES ${some.map(() => row).join(', ')}
        ON CONFLICT (nameserver_id, key_id) DO ${action}`,
      some.flatMap((each) => [
        id,
        each.keyId,
        each.keyName,
        each.state,
        each.deliveredVersion,
        each.appliedAt,
        each.verifiedAt,
        each.error?.code ?? null,
        each.error?.message.slice(0, 1000) ?? null,
        each.removal?.successorId ?? null,
        each.removal?.isCompromised === true ? 1 : 0,
      ]),
    );
  }
}

const ROWS_PER_PAGE = 1000;

/** Returns the deliveries to a name server, in the order of the ids of their keys. */
export async function readDeliveries(sql: Sql, id: string): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  const all = pages(
    ROWS_PER_PAGE,
    (after) =>
      sql.all(
        `SELECT ${COLUMNS.join(', ')} FROM deliveries WHERE nameserver_id = ? AND key_id > ?
          ORDER BY key_id LIMIT ${ROWS_PER_PAGE}`,
        [id, after],
      ),
    (row) => String(row.key_id),
  );
  for await (const rows of all) for (const row of rows) deliveries.push(deliveryOf(row));
  return deliveries;
}

export function deliveryOf(row: SqlRow): Delivery {
  const text = (name: string) => (typeof row[name] === 'string' ? row[name] : null);
  const code = text('error_code');
  const [successorId, isCompromised] = [text('successor_id'), Number(row.compromised) === 1];
  return {
    keyId: String(row.key_id),
    keyName: String(row.key_name),
    state: String(row.state) as Delivery['state'], // only `putDeliveries` writes this column
    deliveredVersion: Number(row.delivered_version),
    appliedAt: text('applied_at'),
    verifiedAt: text('verified_at'),
    error: code === null ? null : { code, message: text('error') ?? '' },
    ...(successorId === null && !isCompromised ? {} : { removal: { successorId, isCompromised } }),
  };
}
