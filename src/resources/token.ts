import {
  list,
  nullable,
  text,
  timestamp,
  type Field,
  type Kind,
  type Parsed,
} from '../core/field.ts';
import { defineFields, defineResource, type ResourceOf } from '../core/resource.ts';
import { readNetwork } from '../core/text/networks.ts';
import { withoutTokens } from '../core/text/token-form.ts';
import {
  limitField,
  line,
  MAX_LIMIT_ITEMS,
  optionalField,
  serviceField,
  serviceTime,
  word,
} from '../core/shared-fields.ts';

const plainWord = word(/^[A-Za-z0-9_.:-]+$/, 'letters, digits and _ . : -');

/**
 * The id of a project. Rejects a token, because a token sent by mistake would appear in every zone
 * of the project.
 */
const projectId = {
  ...plainWord,
  parse(value: unknown): Parsed<string> {
    const parsed = plainWord.parse(value);
    return 'value' in parsed && withoutTokens(parsed.value) !== parsed.value
      ? { problem: 'must be the id of a project, not a token', validator: 'format' }
      : parsed;
  },
};

/** An IP address or a network, stored with its prefix length. */
const network: Kind<string> = {
  schema: { type: 'string', maxLength: 49, examples: ['192.0.2.0/24', '2001:db8::/32'] },
  parse(value) {
    const read = readNetwork(typeof value === 'string' ? value : '');
    return 'value' in read ? read : { ...read, validator: 'format' };
  },
};

const hash = {
  ...text({ min: 0, max: 64 }),
  description: 'The SHA-256 of the token. Empty if the MAC of the stored token does not match.',
  example: '',
  onCreate: { default: undefined },
  set: 'hidden',
} satisfies Field<string>;

const fields = defineFields({
  name: {
    ...line(255),
    description:
      'The name of the person or program that uses the token. The name must be unique. The log shows the name for every request with the token.',
    example: 'terraform',
    onCreate: 'required',
  },
  roles: {
    ...list(plainWord, 1, 32),
    description: 'The roles of the token.',
    example: ['reader'],
    onCreate: 'required',
  },
  project_id: optionalField(
    projectId,
    'The project of the token.',
    '5f2d6a9d0c8a4d8d9d7d0b1f3e7c2a11',
  ),
  pools: limitField(
    'pools',
    'The pools to which the token is limited. The caller reads only these pools and their name servers, and manages only their zones and keys, and the keys of these zones. Null if the token is not limited to pools. If a token has several kinds of limits, the caller has access to the resources of each kind.',
  ),
  zones: limitField(
    'zones',
    'The zones to which the token is limited. The caller reads and manages only these zones and their keys, and reads their pools, with the name servers. Null if the token is not limited to zones.',
  ),
  keys: limitField(
    'tsigkeys',
    'The keys to which the token is limited. The caller reads and manages only these keys. The caller cannot create keys, and cannot change the pool or zone of a key. Null if the token is not limited to keys.',
  ),
  nameservers: limitField(
    'nameservers',
    'The name servers to which the token is limited. With the role `nameserver-agent`, the caller can only read and report the keys of these name servers. Null if the token is not limited to name servers.',
  ),
  addresses: optionalField(
    list(network, 1, MAX_LIMIT_ITEMS),
    'The addresses and networks from which the token is valid. Requests from other addresses get the response for an unknown token. Null if the token is valid from every address.',
    null,
  ),
  expires_at: optionalField(
    timestamp(),
    'The time at which the token expires. Null for a token that does not expire.',
    '2030-01-31T12:00:00.000000',
  ),
  last_used_at: serviceTime(
    'The time of the last request with the token, or up to 2 minutes earlier. Null for a token that was never used.',
    null,
  ),
  created_by: serviceField(
    nullable(text({ min: 1, max: 320 })),
    null,
    'The caller who created the token: `token:` and the id of a token, or `keystone:` and the id of a user. The creator of the first token and of tokens created with `adminToken` is `configured`. If a token of a Keystone user creates another token, the creator is the same user. Null for tokens that were created before version 0.1.0.',
    'token:3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
  ),
  hash,
});

/** A stored token: the hash and the rights of a token, but not the token itself. */
export type Token = ResourceOf<typeof fields>;

/** Returns whether the service itself stored a token, so that it may authenticate a caller. */
export function isGenuine({ hash }: Pick<Token, 'hash'>): boolean {
  return hash !== '';
}

/** A bearer token of the service, which only the response to its creation shows. */
export const token = defineResource({
  collection: 'tokens',
  noun: 'token',
  title: 'Token',
  words: { one: 'token', many: 'tokens' },
  description:
    'A bearer token of the service, for people and programs. The rights of a token cannot change. Create another token instead.',
  operations: ['create', 'list', 'get', 'delete'],
  fields,
  unique: { field: 'name', comparisonForm: (name) => name },
  lookups: { hash: { field: 'hash' } },
  filters: { name: 'unique', project_id: 'exact' },
  timeFilters: {
    unused_since: {
      description:
        'Only tokens that no request has used since this time. For a token that was never used, the time of its creation counts.',
      flag: '--unused',
      condition: (time) => ({
        test: 'any',
        alternatives: [
          [{ field: 'last_used_at', test: '<', value: time }],
          [
            { field: 'last_used_at', test: 'null' },
            { field: 'created_at', test: '<', value: time },
          ],
        ],
      }),
    },
  },
  shownOnce: {
    token: {
      schema: { type: 'string' },
      description: 'The token itself.',
      example: 'tsigil_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    },
  },
  credential: { proof: 'hash', unsigned: ['last_used_at'] },
  refusals: { create: ['invalid_operation'], delete: ['last_administrator'] },
});
