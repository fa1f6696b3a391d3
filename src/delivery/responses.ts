import {
  anyText,
  boolean,
  enumeration,
  integer,
  nullable,
  timestamp,
  type ValueOf,
} from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';

/** The states of a key on one name server, from the best to the worst. */
export const DELIVERY_STATES = [
  'delivered',
  'removing',
  'pending',
  'paused',
  'held',
  'undeliverable',
  'failed',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The states of a key. */
export const KEY_DELIVERY_STATES = [...DELIVERY_STATES, 'none'] as const;

const FAILURE = responseObject({
  code: described(anyText(), 'The reason, such as `unreachable`.'),
  message: described(anyText(), 'The reason in a sentence, without secrets.'),
});

const STAMP = nullable(timestamp());

export const DELIVERIES = responseObject({
  key_id: described(anyText(), 'The id of the key.'),
  state: described(
    enumeration(KEY_DELIVERY_STATES),
    'The worst state on any name server. `none` if the pool of the key has no name server.',
  ),
  version: described(integer(1), 'The version of the key. Each change increments the version.'),
  servers: described(
    list(
      responseObject({
        name_server: described(anyText(), 'The name of the name server.'),
        state: described(
          enumeration(DELIVERY_STATES),
          'The state of the key. The state is `delivered` only if signed queries verified this version.',
        ),
        delivered_version: described(
          integer(0),
          'The version of the key on the name server. 0 if the name server does not have the key.',
        ),
        applied_at: described(STAMP, 'The time when this version reached the name server.'),
        verified_at: described(STAMP, 'The time when a signed query last succeeded.'),
        attempts: described(integer(0), 'The number of failed attempts in a row.'),
        next_attempt_at: described(STAMP, 'The time of the next attempt after a failure.'),
        error: described(nullable(FAILURE), 'The failure. Null if no failure is known.'),
      }),
    ),
    'The name servers that should have the key, or still have it.',
  ),
});

export type ShownDeliveries = ValueOf<typeof DELIVERIES>;

/** Returns whether a name server may soon have the key, or no longer have it. */
export function isPending({ servers }: Pick<ShownDeliveries, 'servers'>): boolean {
  return servers.some(
    ({ state, error }) => (state === 'pending' && error === null) || state === 'removing',
  );
}

/** Returns whether the agent of a name server is not reporting. It may have just been started. */
export function lacksAgent({ servers }: Pick<ShownDeliveries, 'servers'>): boolean {
  return servers.some(({ error }) => error?.code === 'no_agent');
}

/** The key states that can be listed for all name servers. */
export const LISTED_STATES = enumeration(['removing']);

/** Keys that name servers still have but should not have. */
export const REMOVING = responseObject({
  deliveries: described(
    list(
      responseObject({
        name_server: described(anyText(), 'The name of the name server.'),
        key_id: described(anyText(), 'The id of the key. The key may already be deleted.'),
        key_name: described(anyText(), 'The name of the key on the name server.'),
        state: described(LISTED_STATES, 'Always `removing`.'),
        delivered_version: described(integer(1), 'The version of the key on the name server.'),
        error: described(nullable(FAILURE), 'Why the key could not be removed.'),
      }),
    ),
    'At most 1,000 keys, sorted by the name of the name server, then by the name of the key.',
  ),
});

export type RemovingKeys = ValueOf<typeof REMOVING>;

export const NAME_SERVER_CHECK = responseObject({
  requirements: described(
    list(
      responseObject({
        requirement: described(anyText(), 'The requirement, in a sentence.'),
        ok: described(boolean(), 'Whether the requirement is met.'),
        problem: described(nullable(anyText()), 'The problem. Null if the requirement is met.'),
        hint: described(nullable(anyText()), 'What to do next.'),
      }),
    ),
    'All requirements.',
  ),
});

export type ShownRequirement = ValueOf<typeof NAME_SERVER_CHECK>['requirements'][number];

export const REQUESTED = responseObject({
  requested: described(boolean(), 'Always true.'),
});

export const RESUMED = responseObject({
  resumed: described(list(anyText()), 'The names of the NameServers that were held.'),
});

export const REMOVING_EXAMPLE: RemovingKeys = {
  deliveries: [
    {
      name_server: 'ns1',
      key_id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
      key_name: 'transfer.example',
      state: 'removing',
      delivered_version: 3,
      error: { code: 'unreachable', message: 'connection refused' },
    },
  ],
};

export const DELIVERIES_EXAMPLE: ShownDeliveries = {
  key_id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
  state: 'delivered',
  version: 3,
  servers: [
    {
      name_server: 'ns1',
      state: 'delivered',
      delivered_version: 3,
      applied_at: '2030-01-31T12:00:00.000000',
      verified_at: '2030-01-31T12:00:00.200000',
      attempts: 0,
      next_attempt_at: null,
      error: null,
    },
  ],
};
