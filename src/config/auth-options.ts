import { enumeration, integer } from '../core/field.ts';
import { AUTH_METHODS } from '../core/settings.ts';
import { line, oneOrMore, path, policy, tokenText, url } from './kinds.ts';
import { option } from './option.ts';

const KEYSTONE = {
  url: option(url(), {
    meaning:
      'The URL of Keystone, with or without a final `/v3`. The method `keystone` needs this URL.',
  }),
  publicUrl: option(url(), {
    meaning:
      'The URL of Keystone that callers receive in 401 responses. If unset, the responses contain `auth.keystone.url`.',
  }),
  caFile: option(path(), {
    meaning:
      'A PEM file with the CA certificates that the service trusts for Keystone. If unset, those that Node.js trusts.',
  }),
  username: option(line(), {
    meaning:
      "The service's user in Keystone. Without a user or an application credential, the service uses each caller's token to validate that token.",
  }),
  password: option(line(), { secret: true, meaning: 'The password of `auth.keystone.username`.' }),
  userDomain: option(line(), {
    default: 'Default',
    meaning: 'The name of the domain of `auth.keystone.username`.',
  }),
  project: option(line(), {
    meaning: 'The name of the project in which `auth.keystone.username` has its role.',
  }),
  projectDomain: option(line(), {
    default: 'Default',
    meaning: 'The name of the domain of `auth.keystone.project`.',
  }),
  applicationCredentialId: option(line(), {
    meaning: 'The id of an application credential, instead of user, password and project.',
  }),
  applicationCredentialSecret: option(line(), {
    secret: true,
    meaning: 'The secret of `auth.keystone.applicationCredentialId`.',
  }),
  timeoutSeconds: option(integer(1, 600), {
    default: 5,
    meaning:
      'How long a request waits for Keystone, in seconds. The time includes sign-in, validation and retries.',
  }),
  maxTokenDays: option(integer(0, 3650), {
    reload: 'yes',
    default: 90,
    meaning:
      'How many days a token of this service that a Keystone user creates, and those created with it, may be valid. 0 sets no limit.',
  }),
  cacheSeconds: option(integer(0, 86_400), {
    default: 300,
    meaning:
      'How long a validated token is cached, in seconds. A revoked token may still work this long. 0 disables the cache.',
  }),
};

export const ADMIN_TOKEN = option(tokenText(), {
  reload: 'while set',
  secret: true,
  meaning:
    'An administrator token that is valid while it is configured, for containers and tests. If unset, the first start creates one, in `admin.token` beside the SQLite file, or in `var/` with PostgreSQL.',
});

export const AUTH_SECTIONS = {
  auth: {
    insufficientRightsStatus: option(enumeration([401, 403]), {
      designate: 403,
      meaning:
        'The status for callers with a valid token and insufficient roles: 401 with type `access_denied`, or 403 with type `forbidden`. The default is 401. If `auth.method` is `keystone` alone, the default is 403, because Keystone clients sign in again after 401.',
    }),
    method: option(oneOrMore(enumeration(AUTH_METHODS), AUTH_METHODS.length), {
      default: ['tokens'],
      meaning:
        'Which tokens the service accepts: its own (`tokens`), tokens of OpenStack Keystone (`keystone`), or both, as a list.',
    }),
    keystone: KEYSTONE,
  },
  policy: option(policy(), {
    reload: 'yes',
    default: {},
    meaning:
      'Which roles have a right, such as `tlds:list: [admin, reader]`. Rights that the map does not contain keep their default roles.',
  }),
};
