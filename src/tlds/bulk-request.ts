import { EXAMPLE_ID } from '../core/error-entry.ts';
import { MAX_LIST_BYTES } from '../core/settings.ts';
import { boolean, enumeration, integer, nullable, uuid, type ValueOf } from '../core/field.ts';
import {
  described,
  list,
  object,
  optional,
  responseObject,
  unparsedList,
  withDefault,
} from '../core/object.ts';
import { tld } from '../resources/tld.ts';
import type { ActionBody, ActionResponse } from '../resources/operations/action.ts';

export const MAX_ENTRIES = 20_000;

type TldFields = (typeof tld)['fields'];

const FIELDS = Object.fromEntries(
  Object.entries(tld.fields).map(([name, field]) => [name, described(field, field.description)]),
) as TldFields;
const EXAMPLE = Object.fromEntries(
  Object.entries(tld.fields).map(([name, { example }]) => [name, example]),
) as { readonly [Name in keyof TldFields]: ValueOf<TldFields[Name]> };

/** An entry keeps its name, by which it is matched. */
const { name: NAME, ...CHANGEABLE } = FIELDS;
export const CHANGEABLE_MEMBERS = Object.keys(CHANGEABLE) as (keyof typeof CHANGEABLE)[];

const REQUEST = object({
  replace: described(
    withDefault(boolean(), false),
    'Whether to remove the stored entries that are not in the list. Requires the right `tlds:delete`.',
  ),
  dry_run: described(
    withDefault(boolean(), false),
    'Whether to show what would change, without changing anything.',
  ),
  // The service rejects an empty list, because its usual cause is a failed download. With
  // `replace`, an empty list would remove every entry.
  tlds: described(
    unparsedList({ $ref: `#/components/schemas/${tld.title}Create` }, 1, MAX_ENTRIES, 'entries'),
    'The entries. No two may have the same name.',
  ),
});

export type BulkRequest = ValueOf<typeof REQUEST>;

const RESULT = responseObject({
  index: described(integer(0), 'The position of the entry in the list, from 0.'),
  outcome: described(enumeration(['added', 'unchanged', 'updated']), 'What happened to the entry.'),
  id: described(nullable(uuid()), 'The id of the Tld. Null for a Tld that a dry run would add.'),
  name: described(NAME, 'The name as it is stored.'),
  previous: optional(
    described(
      responseObject(CHANGEABLE),
      'The values before the update. Present only for an updated entry.',
    ),
  ),
});

export type BulkResult = ValueOf<typeof RESULT>;

const RESPONSE = responseObject({
  counts: described(
    responseObject({
      added: described(integer(0), 'The number of entries that did not exist.'),
      unchanged: described(integer(0), 'The number of entries that existed with the same members.'),
      updated: described(integer(0), 'The number of existing entries with a changed member.'),
      removed: described(integer(0), 'The number of existing entries that are not in the list.'),
    }),
    'The number of entries with each outcome.',
  ),
  results: described(list(RESULT), 'The outcome of each entry, in the order of the list.'),
  removed: described(list(responseObject({ id: uuid(), ...FIELDS })), 'The removed entries.'),
});

export type BulkResponse = ValueOf<typeof RESPONSE>;

export const BULK_BODY: ActionBody<BulkRequest> = {
  kind: REQUEST,
  schemaName: 'TldChanges',
  what: 'list',
  maxBytes: MAX_LIST_BYTES,
  examples: {
    dry: {
      summary: 'Show what would change if the list replaced all entries.',
      value: { replace: true, dry_run: true, tlds: [{ name: 'example' }] },
    },
  },
};

export const BULK_RESPONSE: ActionResponse<BulkResponse> = {
  kind: RESPONSE,
  schemaName: 'TldChangesResult',
  description: 'The outcome of each entry.',
  examples: {
    dry: {
      summary: 'One entry would be added, and one removed.',
      value: {
        counts: { added: 1, unchanged: 0, updated: 0, removed: 1 },
        results: [{ index: 0, outcome: 'added', id: null, name: 'example' }],
        removed: [{ id: EXAMPLE_ID, ...EXAMPLE }],
      },
    },
  },
};
