import { EXPORT_FORMATS, SIDES } from '../export-formats/formats.ts';
import { enumeration, integer, nullable, text, timestamp, uuid } from '../model/field.ts';
import { defineFields, defineResource, type ResourceOf } from '../model/resource.ts';
import { hiddenField, line } from './shared-fields.ts';

const fields = defineFields({
  hash: hiddenField(
    text({ min: 0, max: 64 }),
    'The SHA-256 of the secret part of the address. Empty if the MAC does not match.',
  ),
  key_id: hiddenField(uuid(), 'The id of the key.'),
  key_version: hiddenField(
    integer(1),
    'The version of the key. The link is void once the key has another.',
  ),
  format: hiddenField(enumeration(Object.keys(EXPORT_FORMATS)), 'The format of the text.'),
  side: hiddenField(enumeration(SIDES), 'Who reads the text.'),
  primary_address: hiddenField(
    nullable(line(60)),
    'The address of the primary server, for a secondary.',
  ),
  zone: hiddenField(nullable(line(254)), 'The zone, for a secondary.'),
  expires_at: hiddenField(timestamp(), 'When the link expires.'),
  opened_at: hiddenField(nullable(timestamp()), 'When the link was opened. Null: it still works.'),
});

export type KeyShare = ResourceOf<typeof fields>;

/** A link that shows the exported text of a key once. It has no routes of a collection. */
export const keyShare = defineResource({
  collection: 'tsigkey_shares',
  noun: 'tsigkey_share',
  title: 'Link',
  words: { one: 'link', many: 'links' },
  description: 'A link that shows the exported text of a key once.',
  operations: [],
  fields,
  lookups: { hash: { field: 'hash' }, key: { field: 'key_id' } },
  filters: {},
  credential: { proof: 'hash', unsigned: [] },
});
