import { EXAMPLE_ID } from '../core/error-entry.ts';
import {
  anyText,
  enumeration,
  integer,
  nullable,
  timestamp,
  uuid,
  type ValueOf,
} from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';
import type { Caller } from '../core/caller.ts';
import type { Reader } from '../core/ports.ts';
import { existing, isVisible } from '../resources/operations/visibility.ts';
import {
  CONSUMER,
  lifecycle,
  LIFECYCLE_STATES,
  lineage,
  RETIREMENTS,
  retiredKey,
  WAITING_REASONS,
  type Lifecycle,
  type RetiredKey,
} from '../resources/lineage.ts';
import { marksOf, tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { NO_ROTATION } from './lineage-rows.ts';
import type { RotationDependencies } from './dependencies.ts';
import { withoutMembers } from './advance.ts';
import { expiryOf } from '../resources/expiry.ts';

const TIME = nullable(timestamp());

export const LIFECYCLE = responseObject({
  handle: described(anyText(), 'The name of the first key, by which programs find the newest.'),
  owner: described(nullable(anyText()), 'Who answers for the keys.'),
  purpose: described(nullable(anyText()), 'What the keys are for.'),
  consumers: described(list(CONSUMER), 'Who uses the keys.'),
  keys: described(
    list(
      responseObject({
        id: described(uuid(), 'The id of the key.'),
        name: described(anyText(), 'The name of the key.'),
        algorithm: described(anyText(), 'The TSIG algorithm.'),
        state: described(
          enumeration(LIFECYCLE_STATES),
          '`active`: without successor. `spreading`: not every name server that should accept the successor was seen to do so. `switching`: clients move to the successor. `draining`: the key works until `retire_at`. `retired`: no name server accepts the key, and it can be restored.',
        ),
        created_at: described(timestamp(), 'The time when the key was created.'),
        started_at: described(TIME, 'The time when its rotation began.'),
        verified_at: described(TIME, 'The time when every name server accepted the successor.'),
        retire_at: described(TIME, 'The earliest time of its retirement.'),
        expires_at: described(
          TIME,
          'The time when the key should be replaced: its own, or by `tsigkeys.maxAgeDays`, whichever is earlier.',
        ),
        retire: described(
          nullable(enumeration(RETIREMENTS)),
          'Who retires the key. Null: the service, once it knows that no client needs the key.',
        ),
        overlap_seconds: described(
          nullable(integer(0)),
          'How long the key works after all clients could move.',
        ),
        successor_id: described(nullable(uuid()), 'The id of the key that replaces it.'),
        waiting: described(
          nullable(
            responseObject({
              reason: described(
                enumeration(WAITING_REASONS),
                '`not_verified`: name servers that do not accept the successor yet. `unconfirmed`: consumers, or addresses, that were not seen with the successor. `unknown_consumers`: name servers whose logs do not show every use of a whole day, or whose configuration cannot be read and may name the key; confirm that all clients have moved. `in_use`: addresses that still use the key. `referenced`: places that name the key in configurations of name servers. `manual`: retire the key yourself.',
              ),
              who: described(list(anyText()), 'Whom or what the rotation waits for.'),
              began_at: described(TIME, 'The time when it began to wait for this reason.'),
            }),
          ),
          'Why the rotation does not go on by itself. Null if it does, or waits only for its time.',
        ),
        used_after_retirement: described(
          nullable(
            responseObject({
              count: described(integer(1), 'How often name servers refused the key.'),
              last_at: described(timestamp(), 'The minute of the last time.'),
              addresses: described(list(anyText()), 'The clients, if the logs state them.'),
            }),
          ),
          'A client uses the retired key. Null if no log shows one.',
        ),
      }),
    ),
    'The keys in their order, as far as the caller can see them.',
  ),
});

export type ShownLifecycle = ValueOf<typeof LIFECYCLE>;

/**
 * Returns the lineage of a key, which may be retired. A key that was never rotated is alone. Throws
 * `resource_not_found`.
 */
export async function showLifecycle(
  {
    store,
    clients,
    settings,
  }: Pick<RotationDependencies, 'clients' | 'settings'> & {
    readonly store: Pick<Reader, 'get' | 'find'>;
  },
  caller: Caller,
  id: string,
): Promise<ShownLifecycle> {
  const found = (await store.get(tsigkey, id)) ?? (await retiredAsKey(store, id));
  const key = await existing(store, tsigkey, caller, found);
  const row = await store.get(lifecycle, id);
  const own = row && (await store.get(lineage, row.lineage_id));
  if (row === undefined || own === undefined) {
    const expiry = expiryOf(key, undefined, settings.maxAgeDays);
    const keys = [{ ...shownKey(key, ALONE, caller), expires_at: expiry }];
    return { handle: key.name, owner: null, purpose: null, consumers: [], keys };
  }
  const rows = await store.find(lifecycle, 'lineage', [own.id]);
  const ids = rows.map((each) => each.id);
  const living = await store.find(tsigkey, 'id', ids);
  const retired = await store.find(retiredKey, 'id', ids);
  const uses = await clients.usesAfterRetirement(retired);
  const keys: ShownLifecycle['keys'][number][] = [];
  for (const each of rows.toSorted((one, other) => one.position - other.position)) {
    const gone = retired.find((other) => other.id === each.id);
    const member = living.find((other) => other.id === each.id) ?? (gone && asKey(gone));
    if (member === undefined || !(await isVisible(store, tsigkey, caller, member))) continue;
    const use = gone && uses.find((other) => other.id === each.id);
    keys.push({
      ...shownKey(member, each, caller),
      expires_at: gone ? each.expires_at : expiryOf(member, each, settings.maxAgeDays),
      ...(use === undefined
        ? {}
        : {
            used_after_retirement: {
              count: use.count,
              last_at: use.lastAt,
              addresses: use.addresses,
            },
          }),
    });
  }
  const { handle, owner, purpose, consumers } = own;
  return { handle, owner, purpose, consumers, keys };
}

const ALONE = { ...NO_ROTATION, expires_at: null };

async function retiredAsKey(
  { get }: Pick<Reader, 'get'>,
  id: string,
): Promise<Tsigkey | undefined> {
  const found = await get(retiredKey, id);
  return found && asKey(found);
}

/** Returns a retired key in the form of a key. Only its transaction knows whether it is orphaned. */
export function asKey(retired: RetiredKey): Tsigkey {
  const key = withoutMembers(retired, 'grants', 'retired_at', 'purge_at');
  const granted = retired.grants === null ? null : '';
  return { ...key, ...marksOf(retired), orphaned: false, granted };
}

function shownKey(
  { id, name, algorithm, created_at: createdAt }: Tsigkey,
  row: typeof ALONE | Lifecycle,
  { limits }: Caller,
): ShownLifecycle['keys'][number] {
  const { waiting_reason: reason, waiting_for: who, waiting_since: began } = row;
  // What the configuration of a name server says is not for a caller with limits.
  const isHidden = limits !== undefined && reason === 'referenced';
  return {
    id,
    name,
    algorithm,
    state: row.state,
    created_at: createdAt,
    started_at: row.started_at,
    verified_at: row.verified_at,
    retire_at: row.retire_at,
    expires_at: row.expires_at,
    retire: row.retire,
    overlap_seconds: row.overlap_seconds,
    successor_id: row.successor_id,
    waiting: reason === null ? null : { reason, who: isHidden ? [] : who, began_at: began },
    used_after_retirement: null,
  };
}

const LATER_ID = '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61';

const UNREPLACED: ShownLifecycle['keys'][number] = {
  id: LATER_ID,
  name: 'transfer-key-r2',
  algorithm: 'hmac-sha256',
  state: 'active',
  created_at: '2030-02-01T08:30:00.654321',
  started_at: null,
  verified_at: null,
  retire_at: null,
  expires_at: null,
  retire: null,
  overlap_seconds: null,
  successor_id: null,
  waiting: null,
  used_after_retirement: null,
};

export const LIFECYCLE_EXAMPLE: ShownLifecycle = {
  handle: 'transfer-key',
  owner: null,
  purpose: null,
  consumers: [],
  keys: [
    {
      id: EXAMPLE_ID,
      name: 'transfer-key',
      algorithm: 'hmac-sha256',
      state: 'switching',
      created_at: '2029-01-31T12:00:00.000000',
      started_at: '2030-02-01T08:30:00.654321',
      verified_at: '2030-02-01T08:30:02.123456',
      retire_at: null,
      expires_at: null,
      retire: null,
      overlap_seconds: 604_800,
      successor_id: LATER_ID,
      waiting: {
        reason: 'unknown_consumers',
        who: ['ns1'],
        began_at: '2030-02-01T08:30:02.123456',
      },
      used_after_retirement: null,
    },
    UNREPLACED,
  ],
};
