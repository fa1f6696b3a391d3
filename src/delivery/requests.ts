import type { ActionBody } from '../resources/operations/action.ts';
import { boolean, nullable, uuid, type ValueOf } from '../core/field.ts';
import { described, object, withDefault } from '../core/object.ts';
import { line } from '../core/shared-fields.ts';

/** The bodies of the actions on deliveries, from which the flags of their commands follow. */

const RECONCILE = object({
  confirm: withDefault(
    described(boolean(), 'Whether to remove any number of keys if the state is `blocked`.'),
    false,
  ),
});

export const RECONCILE_BODY: ActionBody<ValueOf<typeof RECONCILE>> = {
  kind: RECONCILE,
  schemaName: 'Reconcile',
  what: 'request',
  examples: { usual: { summary: 'Without confirmation.', value: { confirm: false } } },
};

const RESUME = object({
  nameserver_id: withDefault(
    described(nullable(uuid()), 'The id of the NameServer. Null for all NameServers.'),
    null,
  ),
});

export const RESUME_BODY: ActionBody<ValueOf<typeof RESUME>> = {
  kind: RESUME,
  schemaName: 'DeliveryResume',
  what: 'request',
  examples: { usual: { summary: 'All NameServers.', value: { nameserver_id: null } } },
};

const KEY_REMOVAL = object({
  name: described(line(255), 'The name of the key, as in `unknown_keys`.'),
});

export const KEY_REMOVAL_BODY: ActionBody<ValueOf<typeof KEY_REMOVAL>> = {
  kind: KEY_REMOVAL,
  schemaName: 'KeyRemoval',
  what: 'request',
  examples: { usual: { summary: 'One key.', value: { name: 'former-key' } } },
};
