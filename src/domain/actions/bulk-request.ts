import type { ActionBody, ActionResponse } from './action.ts';
import { EXAMPLE_ID } from '../model/error-entry.ts';
import {
  boolean,
  enumeration,
  integer,
  nullable,
  uuid,
  type Field,
  type Kind,
  type ValueOf,
} from '../model/field.ts';
import {
  described,
  object,
  optional,
  responseObject,
  sequence,
  unparsedList,
  withDefault,
  type Optional,
} from '../model/object.ts';
import { givenFields, shownFields, uniqueOf } from '../model/resource.ts';
import { tld } from '../resources/tld.ts';

export const MAX_ENTRIES = 20_000;

/**
 * The maximum size of a request with a list, in bytes. A list of 20,000 entries fits if each has
 * about 100 bytes.
 */
export const MAX_LIST_BYTES = 2 * 1024 * 1024;

const OUTCOMES = ['added', 'unchanged', 'updated'] as const;

type TldFields = (typeof tld)['fields'];
type Values = { readonly [Name in keyof TldFields]: ValueOf<TldFields[Name]> };
type Former = {
  readonly [Name in Exclude<keyof TldFields, 'name'>]: Optional<Values[Name]>;
};

/** Returns members for the fields of the definition, with what `memberOf` returns for each. */
function membersOf(memberOf: (field: Field) => unknown, names = shownFields(tld)): object {
  return Object.fromEntries(
    Object.entries<Field>(tld.fields).flatMap(([name, field]) =>
      names.includes(name) ? [[name, memberOf(field)]] : [],
    ),
  );
}

const kindOf = (field: Field) => described(field, field.description);
const optionalKindOf = (field: Field) => optional(kindOf(field));

const ENTRY_MEMBERS = membersOf(
  (field) => (field.onCreate === 'required' ? kindOf(field) : optionalKindOf(field)),
  givenFields(tld),
) as Readonly<Record<string, Kind>>;
/** An entry keeps its name, by which it is matched. */
const FORMER_MEMBERS = membersOf(
  optionalKindOf,
  givenFields(tld).filter((name) => name !== uniqueOf(tld).field),
) as Former;
const REMOVED_MEMBERS = membersOf(kindOf) as TldFields;
const EXAMPLE = membersOf(({ example }) => example) as Values;

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
    unparsedList(object(ENTRY_MEMBERS), 1, MAX_ENTRIES, 'entries'),
    'The entries, in the format of a request that creates a Tld. No two entries may have the same name.',
  ),
});

/** A list of unparsed TLD entries, and the options for applying the list. */
export type BulkRequest = ValueOf<typeof REQUEST>;

const RESULT = responseObject({
  index: described(integer(0), 'The position of the entry in the list, from 0.'),
  outcome: described(enumeration(OUTCOMES), 'What happened to the entry.'),
  id: described(nullable(uuid()), 'The id of the Tld. Null for a Tld that a dry run would add.'),
  name: described(tld.fields.name, 'The name as it is stored.'),
  previous: optional(
    described(
      responseObject(FORMER_MEMBERS),
      'For an updated entry: the old values of the changed members.',
    ),
  ),
});

const asInRequest = 'The value in the request.';

const RESPONSE = responseObject({
  replace: described(boolean(), asInRequest),
  dry_run: described(boolean(), asInRequest),
  counts: described(
    responseObject({
      added: described(integer(0), 'The number of entries that did not exist.'),
      unchanged: described(integer(0), 'The number of entries that existed with the same members.'),
      updated: described(integer(0), 'The number of existing entries with a changed member.'),
      removed: described(integer(0), 'The number of existing entries that are not in the list.'),
    }),
    'The number of entries with each outcome.',
  ),
  results: described(sequence(RESULT), 'The outcome of each entry, in the order of the list.'),
  removed: described(
    sequence(responseObject({ id: uuid(), ...REMOVED_MEMBERS })),
    'The removed entries.',
  ),
});

export type BulkResult = ValueOf<typeof RESULT>;

/** An entry that the list lacks: its id, and every field. */
export type RemovedTld = Values & { readonly id: string };

export type BulkResponse = ValueOf<typeof RESPONSE>;

export const BULK_BODY: ActionBody<BulkRequest> = {
  kind: REQUEST,
  schemaName: 'TldChanges',
  what: 'list',
  maxBytes: MAX_LIST_BYTES,
  examples: {
    whole: {
      summary: 'Apply all entries or none.',
      value: { tlds: [{ name: 'example' }, { name: 'co.example', description: 'Companies' }] },
    },
    dry: {
      summary: 'Show what would change if the list replaced all entries.',
      value: { replace: true, dry_run: true, tlds: [{ name: 'example' }] },
    },
  },
};

const NONE = { added: 0, unchanged: 0, updated: 0, removed: 0 };

export const BULK_RESPONSE: ActionResponse<BulkResponse> = {
  kind: RESPONSE,
  schemaName: 'TldChangesResult',
  description: 'The outcome of each entry.',
  examples: {
    whole: {
      summary: 'One entry existed with another description.',
      value: {
        replace: false,
        dry_run: false,
        counts: { ...NONE, added: 1, updated: 1 },
        results: [
          { index: 0, outcome: 'added', id: EXAMPLE_ID, name: 'example' },
          {
            index: 1,
            outcome: 'updated',
            id: '5f8d5c1e-3a52-4b7c-9f0e-2d1c0b9a8e7f',
            name: 'co.example',
            previous: { description: null },
          },
        ],
        removed: [],
      },
    },
    dry: {
      summary: 'One entry would be added, and one removed.',
      value: {
        replace: true,
        dry_run: true,
        counts: { ...NONE, added: 1, removed: 1 },
        results: [{ index: 0, outcome: 'added', id: null, name: 'example' }],
        removed: [{ id: EXAMPLE_ID, ...EXAMPLE }],
      },
    },
  },
};
