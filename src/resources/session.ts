import type { Caller } from '../core/caller.ts';
import { ServiceError } from '../core/errors.ts';
import { anyText, enumeration, nullable, text, timestamp } from '../core/field.ts';
import { defineFields, defineResource, type ResourceOf } from '../core/resource.ts';
import type { Settings } from '../core/settings.ts';
import { millisecondsOf } from '../core/text/timestamps.ts';
import { hiddenField } from '../core/shared-fields.ts';

/** A session of the web console, or a code that starts one. */
const SESSION_PURPOSES = ['session', 'code'] as const;

/**
 * What a session stands for: a token of the service, the configured administrator token, or a
 * Keystone token.
 */
export const SESSION_KINDS = ['token', 'configured', 'keystone'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** The maximum length of the name of a browser. */
export const MAX_AGENT = 255;

const fields = defineFields({
  purpose: hiddenField(enumeration(SESSION_PURPOSES), 'A session, or a code for one.'),
  hash: hiddenField(
    text({ min: 0, max: 64 }),
    'The SHA-256 of the cookie. Empty if the MAC of the stored session does not match.',
  ),
  kind: hiddenField(enumeration(SESSION_KINDS), 'What the session stands for.'),
  credential_id: hiddenField(anyText(), 'The id of the token, or of the user in Keystone.'),
  name: hiddenField(anyText(), 'The name of the token, or of the user in Keystone.'),
  sealed_token: hiddenField(
    nullable(anyText()),
    'A token that this database does not have, encrypted under the cookie.',
  ),
  address: hiddenField(nullable(anyText()), 'The address of the sign-in.'),
  agent: hiddenField(nullable(anyText()), 'The browser.'),
  expires_at: hiddenField(timestamp(), 'When the session ends at the latest.'),
  seen_at: hiddenField(timestamp(), 'The time of the last request of a person.'),
});

export type Session = ResourceOf<typeof fields>;

/** The sessions of the web console. Callers see them only through actions. */
export const session = defineResource({
  collection: 'sessions',
  noun: 'session',
  title: 'Session',
  words: { one: 'session', many: 'sessions' },
  description: 'A session of the web console.',
  operations: [],
  fields,
  withoutUpdatedAt: true,
  lookups: { hash: { field: 'hash' }, credential_id: { field: 'credential_id' } },
  filters: {},
  credential: { proof: 'hash', unsigned: ['seen_at'] },
});

const RECENT_MS = 15 * 60_000;

/** Throws `sign_in_again` for a session of the web console whose sign-in is too long ago. */
export function requireRecentSignIn(
  { confirmReveal }: Pick<Settings, 'confirmReveal'>,
  { session: current }: Caller,
  now: string,
): void {
  if (current === undefined || confirmReveal === 'never') return;
  if (millisecondsOf(now) - millisecondsOf(current.signedInAt) > RECENT_MS)
    throw new ServiceError('sign_in_again');
}

/**
 * The beginnings of the credentials that a request carries in its cookie, and of the code in a
 * request to sign in. No header can contain them, so that no token passes for either.
 */
export const SESSION_CREDENTIAL = 'session\n';
export const CODE_CREDENTIAL = 'code\n';
