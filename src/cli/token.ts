import { CommandError, EXIT } from './errors.ts';
import { call, type Connection } from './client.ts';
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

/** Every token, page by page. */
export async function listTokens(connection: Connection): Promise<Item[]> {
  const tokens: Item[] = [];
  let path: string | undefined = '/v2/tokens?sort_key=name';
  while (path !== undefined) {
    const page = await call(connection, 'GET', path);
    tokens.push(...(page.tokens as Item[]));
    const next = (page.links as { next?: string }).next;
    path = next === undefined ? undefined : `/v2/tokens${new URL(next).search}`;
  }
  return tokens;
}

/** Revokes the token with this id or name. */
export async function revokeToken(connection: Connection, idOrName: string): Promise<void> {
  const id = normaliseUuid(idOrName) ?? (await findByName(connection, idOrName));
  await call(connection, 'DELETE', `/v2/tokens/${id}`);
}

async function findByName(connection: Connection, name: string): Promise<string> {
  if (name.includes('*')) throw new CommandError(EXIT.usage, 'A token is revoked by its id or its whole name');
  const page = await call(connection, 'GET', `/v2/tokens?${new URLSearchParams({ name }).toString()}`);
  const [found] = page.tokens as Item[];
  if (found === undefined) throw new CommandError(EXIT.refused, `There is no token named '${name}'`, "See 'tsigil token list'.");
  return found.id as string;
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
