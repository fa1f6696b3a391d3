import { CommandError, EXIT } from './errors.ts';
import { call, callWithHeaders, type Connection } from './client.ts';
import { plainText } from './plain-text.ts';
import { ADMIN } from '../domain/caller.ts';
import { normaliseUuid, parseTimestamp } from '../domain/field.ts';
import { shownFields } from '../domain/resource.ts';
import { token as tokenType } from '../domain/token.ts';

type Item = Record<string, unknown>;

/** The columns in which tokens are listed. */
export const TOKEN_COLUMNS = ['id', ...shownFields(tokenType), 'created_at'];

/** What `token create` was asked for. */
export interface TokenRequest {
  readonly name: string;
  readonly role: readonly string[];
  readonly project?: string;
  /** A moment (`2030-01-31T12:00:00`), or a time from now (`90d`, `12h`, `30m`). */
  readonly expires?: string;
}

/** Creates a token; the answer's `token` is shown this once. `now` is in milliseconds since 1970. */
export function createToken(connection: Connection, request: TokenRequest, now: number): Promise<Item> {
  const { name, role, project, expires } = request;
  return call(connection, 'POST', '/v2/tokens', {
    name,
    roles: role,
    ...(project === undefined ? {} : { project_id: project }),
    ...(expires === undefined ? {} : { expires_at: readExpiry(expires, now) }),
  });
}

/** Every token, and the id of the one in use if the service says it. */
export interface TokenList {
  readonly tokens: readonly Item[];
  readonly inUse: string | undefined;
}

/** Lists every token, page by page. */
export async function listTokens(connection: Connection): Promise<TokenList> {
  const tokens: Item[] = [];
  let inUse: string | undefined;
  let path: string | undefined = '/v2/tokens?sort_key=name';
  while (path !== undefined) {
    const { content, header } = await callWithHeaders(connection, 'GET', path);
    inUse ??= header('x-tsigil-caller-id');
    tokens.push(...((content.tokens ?? []) as Item[]));
    const next = (content.links as { next?: string } | undefined)?.next;
    path = next === undefined ? undefined : `/v2/tokens${new URL(next).search}`;
  }
  return { tokens, inUse };
}

/**
 * The tokens with these ids or names, each once, the one in use last: the others could not be revoked without it. Throws
 * `CommandError` if one does not exist.
 */
export async function findTokens(connection: Connection, idsOrNames: readonly string[], { tokens, inUse }: TokenList): Promise<Item[]> {
  const found = new Map<string, Item>();
  for (const idOrName of idsOrNames) {
    const id = normaliseUuid(idOrName);
    const listed = tokens.find((token) => (id === undefined ? token.name === idOrName : token.id === id));
    if (listed === undefined && id === undefined)
      throw new CommandError(EXIT.refused, `There is no token named '${idOrName}'`, "See 'tsigil token list'.");
    const token = listed ?? (await call(connection, 'GET', `/v2/tokens/${id}`));
    found.set(String(token.id), token);
  }
  const isInUse = (token: Item) => Number(token.id === inUse);
  return [...found.values()].sort((one, other) => isInUse(one) - isInUse(other));
}

/** What an operator should know before `revoked` are revoked at `now`, in milliseconds since 1970. Each is a sentence. */
export function revocationWarnings(revoked: readonly Item[], { tokens, inUse }: TokenList, now: number): string[] {
  const own = revoked.find(({ id }) => id === inUse);
  const isRevoked = ({ id }: Item) => revoked.some((token) => token.id === id);
  const administrators = tokens.filter((token) => isAdministrator(token, now));
  // A caller that is not in the list is an administrator by other means: a configured token, or an identity service.
  const hasOtherAccess = inUse !== undefined && !tokens.some(({ id }) => id === inUse);
  const isLast = administrators.some(isRevoked) && administrators.every(isRevoked) && !hasOtherAccess;
  return [
    ...(own === undefined ? [] : [`Token '${plainText(String(own.name))}' is the token that this command uses.`]),
    ...(isLast ? ['No valid administrator token remains afterwards.'] : []),
  ];
}

function isAdministrator({ roles, expires_at: expiresAt }: Item, now: number): boolean {
  const isValid = typeof expiresAt !== 'string' || Date.parse(`${expiresAt}Z`) > now;
  return isValid && Array.isArray(roles) && roles.some((role) => String(role).toLowerCase() === ADMIN);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60 };

function readExpiry(text: string, now: number): string {
  const [, amount = '', unit = ''] = /^(\d{1,6})([dhm])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds !== undefined) return new Date(now + Number(amount) * seconds * 1000).toISOString();
  const moment = parseTimestamp(text);
  if (moment === undefined)
    throw new CommandError(EXIT.usage, `'${text}' is no moment: give one such as 2030-01-31T12:00:00, or a time from now such as 90d, 12h or 30m`);
  return moment;
}
