/** What the console reads of the responses of the service. */

import type { KEY_STATES } from '../rotation/key-states.ts';
import type { RemovingKeys, ShownDeliveries, ShownRequirement } from '../delivery/responses.ts';
import type { ValueOf } from '../core/field.ts';
import type { ResourceOf } from '../core/resource.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { pool } from '../resources/pool.ts';
import type { Tld } from '../resources/tld.ts';
import type { Token as StoredToken } from '../resources/token.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import type { zone } from '../resources/zone.ts';
import type { ShownLifecycle } from '../rotation/lifecycle-response.ts';

export type { AuditRecord } from '../core/audit-record.ts';
export type { FieldDefinition, ResourceDefinition } from '../resources/describe-resource.ts';
export type { NameServer, Tld };
export type Pool = ResourceOf<(typeof pool)['fields']>;
export type Zone = ResourceOf<(typeof zone)['fields']> & { readonly pool_id: string };
export type Key = Omit<Tsigkey, 'secret'>;
export type Token = Omit<StoredToken, 'hash'>;
export type KeyState = ValueOf<typeof KEY_STATES>['states'][number];
export type Deliveries = ShownDeliveries;
export type Lifecycle = ShownLifecycle;
export type LifecycleKey = Lifecycle['keys'][number];
export type Removing = RemovingKeys;
export type Requirement = ShownRequirement;

/** A rotation that waits, with the key that it replaces. */
export type Waiting = Pick<Key, 'id' | 'name'> &
  Pick<NonNullable<LifecycleKey['waiting']>, 'reason' | 'who'>;

export interface OpeningKeys {
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly opens: readonly {
      readonly rights: readonly string[];
      readonly zones: 'all' | number;
    }[];
  }[];
  readonly more: number;
}

export interface Setup {
  readonly steps: readonly { readonly title: string; readonly text: string }[];
  readonly later: string;
  readonly more_zones: number;
}

export interface Grants {
  readonly grants:
    | readonly { readonly rights: readonly string[]; readonly zones: 'all' | readonly string[] }[]
    | null;
}
