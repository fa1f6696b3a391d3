import type { KeyOnServer } from '../delivery/delivery-ports.ts';
import { deliveriesOf } from '../delivery/shown-deliveries.ts';
import { KEY_DELIVERY_STATES } from '../delivery/responses.ts';
import { anyText, enumeration, list, nullable, timestamp } from '../core/field.ts';
import {
  described,
  list as objects,
  responseObject,
  type Members,
  type ObjectOf,
} from '../core/object.ts';
import { isUnusable, weaknessesOf, WEAKNESSES, type KeyFacts } from '../resources/tsigkey.ts';
import { lifecycle, lineage } from '../resources/lineage.ts';
import { expiryOf } from '../resources/expiry.ts';
import type { Dependencies } from '../resources/operations/change.ts';

const FLAWS = [...WEAKNESSES, 'unusable'] as const;

/** What a feature says of many keys at once. */
export interface KeyStatesPart<D, M extends Members = Members> {
  readonly members: M;
  readonly example: ObjectOf<M>;
  /** `places` is what `ofKeys` returned. */
  readonly valuesOf: (
    dependencies: D,
    keys: readonly KeyFacts[],
    places: readonly (readonly KeyOnServer[])[],
  ) => Promise<readonly ObjectOf<M>[]>;
}

export function keyStatesPart<D, const M extends Members>(part: KeyStatesPart<D, M>) {
  return part;
}

/** The response with these members. */
export function keyStatesWith<const M extends Members>(members: M) {
  return responseObject({
    states: described(
      objects(responseObject({ id: described(anyText(), 'The id of the key.'), ...members })),
      'The keys that the caller can see, in the order of the request.',
    ),
  });
}

export const ROTATION_STATES = keyStatesPart({
  members: {
    state: described(
      enumeration(KEY_DELIVERY_STATES),
      'The worst state on any name server. `none` if the pool of the key has no name server.',
    ),
    weakness: described(
      list(enumeration(FLAWS), 0, FLAWS.length),
      'What is wrong with the key: `md5` or `sha1` for its algorithm, `short` for a secret shorter than the output of the algorithm, `published` for one of a manual or an example, `unusable` if no name server can use it.',
    ),
    secret_set_at: described(timestamp(), 'The time when the key got its present secret.'),
    owner: described(nullable(anyText()), 'Who answers for the key.'),
    expires_at: described(
      nullable(timestamp()),
      'When the key should be replaced. Null without an expiry, or if it is being replaced.',
    ),
  },
  example: {
    state: 'delivered',
    weakness: ['short'],
    secret_set_at: '2030-01-31T12:00:00.000000',
    owner: 'netops',
    expires_at: null,
  },
  async valuesOf(
    { store, settings }: Pick<Dependencies, 'store' | 'settings'>,
    keys: readonly KeyFacts[],
    places: readonly (readonly KeyOnServer[])[],
  ) {
    const found = await store.find(
      lifecycle,
      'id',
      keys.map(({ id }) => id),
    );
    const rows = new Map(found.map((row) => [row.id, row]));
    const ids = [...new Set(found.map((row) => row.lineage_id))];
    const owners = new Map(
      (ids.length === 0 ? [] : await store.find(lineage, 'id', ids)).map((own) => [
        own.id,
        own.owner,
      ]),
    );
    return keys.map((key, index) => {
      const row = rows.get(key.id);
      const isReplaced = row !== undefined && row.state !== 'active';
      return {
        state: deliveriesOf(key, places[index] ?? []).state,
        weakness: [...weaknessesOf(key), ...(isUnusable(key) ? (['unusable'] as const) : [])],
        secret_set_at: key.secret_set_at,
        owner: owners.get(row?.lineage_id ?? '') ?? null,
        expires_at: isReplaced ? null : expiryOf(key, row, settings.maxAgeDays),
      };
    });
  },
});

/** What rotation says of many keys, without what other features add. */
export const KEY_STATES = keyStatesWith(ROTATION_STATES.members);
