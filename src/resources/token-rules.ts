import { allPages } from '../core/pages.ts';
import { ADMIN, CONFIGURED_ID, LIMIT_KINDS } from '../core/caller.ts';
import { ServiceError } from '../core/errors.ts';
import type { Lock, Reader } from '../core/ports.ts';
import type { Condition } from '../core/query.ts';
import type { Admission, Admitted, Change, LockContext } from '../core/resource.ts';
import { TOKEN_PREFIX } from '../core/text/token-form.ts';
import { limitsOf, typeOfLimit } from './limits.ts';
import { requireRecentSignIn } from './session.ts';
import { hashToken } from '../core/token-hash.ts';
import { isGenuine, token, type Token } from './token.ts';
import { assertLimitsAllowed, invalidToken } from './token-limit-rules.ts';

type TokenFields = (typeof token)['fields'];

/**
 * A new token depends on the token of its creator and on the resources in its limits. The deletion
 * of a token depends on the other administrator tokens, if one must remain.
 */
export function tokenLocks(
  { operation, resource }: Change<TokenFields>,
  { caller, settings }: LockContext,
): readonly Lock[] {
  if (operation !== 'delete')
    return [
      ...(caller.scope === undefined ? [caller.id] : []).map((key) => ({ type: token, key })),
      ...LIMIT_KINDS.flatMap((kind) =>
        (resource[kind] ?? []).map((key) => ({ type: typeOfLimit(kind), key })),
      ),
    ].map((lock) => ({ ...lock, exclusive: false }));
  return [resource.id, ...(settings.otherAdministrators ? [] : ['administrators'])].map((key) => ({
    type: token,
    key,
    exclusive: true,
  }));
}

/**
 * Throws `invalid_operation` if the service does not accept its own tokens, `last_administrator` if
 * no administrator token would remain, `invalid_object`, and `outside_limits` for a token with more
 * access than its creator.
 */
export async function admitToken(
  change: Change<TokenFields>,
  transaction: Reader,
  admission: Admission,
): Promise<Admitted<TokenFields>> {
  const { caller, settings, now, randomBytes } = admission;
  if (change.operation === 'delete') {
    if (!settings.otherAdministrators)
      await assertAdministratorLeft(change.resource, transaction, now);
    return change;
  }
  if (!settings.ownTokens) throw new ServiceError('invalid_operation', 'tokens');
  requireRecentSignIn(settings, caller, now);
  await assertLimitsAllowed(change.resource, transaction, admission);
  const origin = await originOf(transaction, admission);
  const secret = TOKEN_PREFIX + randomBytes(32).toString('base64url');
  return {
    resource: {
      ...change.resource,
      expires_at: expiryOf(change.resource.expires_at, origin),
      created_by: origin.createdBy,
      hash: hashToken(secret),
    },
    shownOnce: { token: secret },
  };
}

const KEYSTONE_USER = 'keystone:';

/** `expires` is the latest permitted expiry, or null without a limit. */
interface Origin {
  readonly createdBy: string;
  readonly expires: string | null;
  readonly reason?: string;
}

const BY_KEYSTONE_USER = 'because a Keystone user creates the token';

/**
 * Returns the origin of a new token. A token that a Keystone user creates expires, because the
 * service is not notified when the user loses a role. No token can create a token that expires
 * later than itself, because the holder of a stolen token could otherwise keep its access.
 */
async function originOf(transaction: Reader, admission: Admission): Promise<Origin> {
  const { caller, settings, now } = admission;
  if (caller.scope !== undefined) {
    const days = settings.keystoneTokenDays;
    return {
      createdBy: KEYSTONE_USER + caller.id,
      expires: days === 0 ? null : daysAfter(now, days),
      reason: BY_KEYSTONE_USER,
    };
  }
  const creator = await transaction.get(token, caller.id);
  if (creator === undefined || !isGenuine(creator)) {
    // A token that was revoked or forged meanwhile must not create another token.
    if (caller.id !== CONFIGURED_ID) throw new ServiceError('unauthenticated');
    return { createdBy: CONFIGURED_ID, expires: null };
  }
  const { created_by: createdBy, expires_at: expires } = creator;
  if (createdBy?.startsWith(KEYSTONE_USER) === true)
    return { createdBy, expires, reason: BY_KEYSTONE_USER };
  const reason = "because the caller's token expires then";
  return { createdBy: `token:${creator.id}`, expires, reason };
}

/** Throws `invalid_object` if `requested` is later than the origin allows. */
function expiryOf(requested: string | null, { expires: latest, reason }: Origin): string | null {
  if (latest === null || requested === null) return requested ?? latest;
  if (requested <= latest) return requested;
  const message = `'expires_at' must be ${latest} or earlier, ${reason ?? ''}`;
  throw invalidToken([{ path: ['expires_at'], message, validator: 'maximum' }]);
}

function daysAfter(now: string, days: number): string {
  const start = Date.parse(`${now.slice(0, 19)}Z`);
  return new Date(start + days * 86_400_000).toISOString().slice(0, 19) + now.slice(19);
}

/** Throws `last_administrator` if no other valid administrator token exists. */
async function assertAdministratorLeft(
  resource: Token,
  transaction: Reader,
  now: string,
): Promise<void> {
  if (!isAdministrator(resource, now)) return;
  const conditions = [{ field: 'id', test: '<>', value: resource.id }] as const;
  if ((await countAdministrators(transaction, now, 1, conditions)) === 0)
    throw new ServiceError('last_administrator', resource.name);
}

/** Returns the number of valid administrator tokens that meet `conditions`, at most `most`. */
export async function countAdministrators(
  reader: Pick<Reader, 'list'>,
  now: string,
  most: number,
  conditions: readonly Condition[] = [],
): Promise<number> {
  let count = 0;
  for await (const tokens of allPages(reader, token, { conditions })) {
    count += tokens.filter((each) => isAdministrator(each, now)).length;
    if (count >= most) return most;
  }
  return count;
}

/** Compares roles ignoring case. */
function isAdministrator(candidate: Token, now: string): boolean {
  const { roles, expires_at: expiresAt } = candidate;
  return (
    isGenuine(candidate) &&
    limitsOf(candidate) === undefined &&
    (expiresAt === null || expiresAt > now) &&
    roles.some((role) => role.toLowerCase() === ADMIN)
  );
}
