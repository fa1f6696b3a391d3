import { ADMIN } from '../model/caller.ts';
import { ServiceError } from '../model/errors.ts';
import type { Reader } from '../model/ports.ts';
import type { Admission, Admitted, Change } from '../model/resource.ts';
import { MAX_LIMIT } from '../model/settings.ts';
import { TOKEN_PREFIX } from '../text/token-form.ts';
import { hashToken, token, type Token } from '../resources/token.ts';

type TokenFields = (typeof token)['fields'];

/**
 * Applies the rules about a change to a token: the service generates the token, and one
 * administrator token must remain. Throws `last_administrator`.
 */
export async function admitToken(
  change: Change<TokenFields>,
  transaction: Reader,
  { settings, now, randomBytes }: Admission,
): Promise<Admitted<TokenFields>> {
  if (change.operation === 'delete') {
    if (!settings.otherAdministrators)
      await assertAdministratorLeft(change.resource, transaction, now);
    return change;
  }
  const secret = TOKEN_PREFIX + randomBytes(32).toString('base64url');
  return {
    resource: { ...change.resource, hash: hashToken(secret) },
    shownOnce: { token: secret },
  };
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
