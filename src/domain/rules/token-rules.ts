import { ADMIN, CONFIGURED_ID } from '../model/caller.ts';
import { ServiceError } from '../model/errors.ts';
import type { Reader } from '../model/ports.ts';
import type { Admission, Admitted, Change } from '../model/resource.ts';
import { MAX_LIMIT } from '../model/settings.ts';
import { TOKEN_PREFIX } from '../text/token-form.ts';
import { hashToken, token, type Token } from '../resources/token.ts';

type TokenFields = (typeof token)['fields'];

/**
 * Applies the rules about a change to a token: the service generates the token, tokens of Keystone
 * users expire, and one administrator token must remain. Throws `invalid_operation` if the service
 * does not accept its own tokens, `invalid_object`, `last_administrator`.
 */
export async function admitToken(
  change: Change<TokenFields>,
  transaction: Reader,
  admission: Admission,
): Promise<Admitted<TokenFields>> {
  const { settings, now, randomBytes } = admission;
  if (change.operation === 'delete') {
    if (!settings.otherAdministrators)
      await assertAdministratorLeft(change.resource, transaction, now);
    return change;
  }
  if (!settings.ownTokens) throw new ServiceError('invalid_operation', 'tokens');
  const origin = await originOf(transaction, admission);
  const secret = TOKEN_PREFIX + randomBytes(32).toString('base64url');
  return {
    resource: {
      ...change.resource,
      expires_at: expiryOf(change.resource.expires_at, origin.expires),
      created_by: origin.createdBy,
      hash: hashToken(secret),
    },
    shownOnce: { token: secret },
  };
}

/** The start of `created_by` for Keystone users. */
const KEYSTONE_USER = 'keystone:';

/** Who creates a token, and when it expires at the latest: null for never. */
interface Origin {
  readonly createdBy: string;
  readonly expires: string | null;
}

/**
 * Returns the origin of a new token. A token that a Keystone user creates expires, because the
 * service is not notified when the user loses a role. Such a token cannot create one that expires
 * later.
 */
async function originOf(transaction: Reader, admission: Admission): Promise<Origin> {
  const { caller, settings, now } = admission;
  if (caller.identity !== undefined) {
    const days = settings.keystoneTokenDays;
    return {
      createdBy: KEYSTONE_USER + caller.identity.userId,
      expires: days === 0 ? null : daysAfter(now, days),
    };
  }
  const creator = await transaction.get(token, caller.id);
  if (creator === undefined) {
    // A token that was revoked meanwhile must not create another.
    if (caller.id !== CONFIGURED_ID) throw new ServiceError('unauthenticated');
    return { createdBy: CONFIGURED_ID, expires: null };
  }
  return creator.created_by?.startsWith(KEYSTONE_USER) === true
    ? { createdBy: creator.created_by, expires: creator.expires_at }
    : { createdBy: `token:${creator.id}`, expires: null };
}

/** Returns the time of expiry of a token. Throws `invalid_object` if `given` is after `latest`. */
function expiryOf(given: string | null, latest: string | null): string | null {
  if (latest === null || given === null) return given ?? latest;
  if (given <= latest) return given;
  const message = `'expires_at' must be at most ${latest}, because a Keystone user creates the token`;
  throw new ServiceError(
    'invalid_object',
    { what: token.title, messages: [message] },
    { problems: [{ path: ['expires_at'], message, validator: 'maximum' }] },
  );
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
  const others = {
    limit: MAX_LIMIT,
    sortField: 'created_at',
    descending: false,
    conditions: [{ field: 'id', test: '<>', value: resource.id }],
  } as const;
  let page = await transaction.list(token, others);
  while (!page.some((other) => isAdministrator(other, now))) {
    const last = page.at(-1);
    if (last === undefined) throw new ServiceError('last_administrator', resource.name);
    page = await transaction.list(token, {
      ...others,
      after: { sortValue: last.created_at, id: last.id },
    });
  }
}

/**
 * Returns whether a token gives the rights of an administrator at `now`. Roles compare without
 * regard to case.
 */
function isAdministrator({ roles, expires_at: expiresAt }: Token, now: string): boolean {
  return (
    (expiresAt === null || expiresAt > now) && roles.some((role) => role.toLowerCase() === ADMIN)
  );
}
