import { isObject, normaliseUuid, type Kind } from '../../core/field.ts';
import type { ResourceType } from '../../core/resource.ts';
import { revealRight, secretFields } from '../../core/response.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { call, callFor, OTHER_PROGRAM, orIfRefused, type Connection } from './client.ts';
import { CommandError, EXIT, withHint } from '../output/command-error.ts';

export type Item = Readonly<Record<string, unknown>>;

export type Query = readonly (readonly [name: string, value: string])[];

export function pathWith(path: string, parameters: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of parameters) query.append(name, value);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** Returns the first `limit` resources of a list with these query parameters, of all its pages. */
export async function listItems(
  connection: Connection,
  { collection }: ResourceType,
  parameters: Query,
  limit = Infinity,
): Promise<Item[]> {
  const paging: Query = limit < MAX_LIMIT ? [['limit', String(limit)]] : [];
  const items: Item[] = [];
  const path = `/v2/${collection}`;
  for await (const page of pagesOf(PAGE, connection, path, [...parameters, ...paging])) {
    const listed = page[collection];
    if (Array.isArray(listed)) items.push(...listed.filter(isObject));
    if (items.length >= limit) break;
  }
  return items.slice(0, limit);
}

const PAGE: Kind<Item> = {
  schema: { type: 'object' },
  parse: (value) => ({ value: value as Item }),
};

export async function* pagesOf<T extends { readonly links?: unknown }>(
  page: Kind<T>,
  connection: Connection,
  path: string,
  parameters: Query,
): AsyncGenerator<T> {
  let next: string | undefined = pathWith(path, parameters);
  while (next !== undefined) {
    const read: T = await callFor(page, connection, 'GET', next);
    yield read;
    next = nextPath(read, next, connection.url);
  }
}

/** Returns the texts of a member or flag with a list; none if it has no value. */
export function listIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/**
 * Returns the path of the page after `page`, which the service returned for `path`, or undefined
 * after the last page. Throws `CommandError` if the link to the next page is not usable.
 */
function nextPath(
  { links }: { readonly links?: unknown },
  path: string,
  url: string,
): string | undefined {
  const link = isObject(links) ? links.next : undefined;
  if (link === undefined || link === null) return undefined;
  const [collection = ''] = path.split('?');
  const next =
    typeof link === 'string' && URL.canParse(link, url)
      ? collection + new URL(link, url).search
      : path;
  if (next !== path) return next;
  throw new CommandError(
    EXIT.refused,
    `Invalid link to the next page of ${collection} in the response of '${url}'`,
    OTHER_PROGRAM,
  );
}

/** Returns a connection whose responses omit secrets. Unreadable secrets then cause no errors. */
export function withoutSecrets(connection: Connection): Connection {
  return { ...connection, headers: { ...connection.headers, 'tsigil-hide-secrets': 'true' } };
}

/** Reads in all projects if the caller may see them, and otherwise in the caller's project. */
export async function readEverywhere<T>(
  connection: Connection,
  read: (from: Connection) => Promise<T>,
): Promise<T> {
  const headers = { ...connection.headers, 'x-auth-all-projects': 'true' };
  return orIfRefused(
    () => read({ ...connection, headers }),
    [401, 403],
    () => read(connection),
  );
}

/** Returns the name of a resource, or its id if it was deleted or the caller may not see it. */
export async function nameOrId(
  connection: Connection,
  { collection }: ResourceType,
  id: string,
): Promise<string> {
  const path = `/v2/${collection}/${encodeURIComponent(id)}`;
  const quiet = withoutSecrets(connection);
  try {
    return String((await readEverywhere(quiet, (from) => call(from, 'GET', path))).name);
  } catch (error) {
    if (error instanceof CommandError && error.status !== undefined) return id;
    throw error;
  }
}

export async function givenName(
  connection: Connection,
  type: ResourceType,
  idOrName: string,
): Promise<string> {
  const id = normaliseUuid(idOrName);
  return id === undefined ? idOrName : nameOrId(connection, type, id);
}

export async function findPath(...of: Parameters<typeof findId>): Promise<string> {
  return `/v2/${of[1].collection}/${await findId(...of)}`;
}

/**
 * Returns the id of the resource with this id or name. Text in the form of a UUID is an id. Throws
 * `CommandError` unless exactly one resource has the name, in the form that `toName` returns.
 */
export async function findId(
  connection: Connection,
  type: ResourceType,
  text: string,
  toName = (name: string) => name,
): Promise<string> {
  const id = normaliseUuid(text);
  if (id !== undefined) return id;
  if (type.unique === undefined)
    throw new CommandError(
      EXIT.usage,
      `Invalid id '${text}'. A ${type.noun} has no name. Use an id.`,
      listHint(type),
    );
  const { field, comparisonForm } = type.unique;
  const name = toName(text);
  const matches = await listItems(withoutSecrets(connection), type, [[field, name]]);
  // The service treats a name with an asterisk as a pattern.
  const equal = matches.filter(
    (item) => comparisonForm(String(item[field])) === comparisonForm(name),
  );
  const [only, ...others] = equal;
  if (only === undefined)
    throw new CommandError(EXIT.refused, `No ${type.noun} is named '${name}'`, listHint(type));
  if (others.length === 0) return String(only.id);
  const ids = equal.map((item) => String(item.id)).join(', ');
  throw new CommandError(
    EXIT.refused,
    `${equal.length} ${type.collection} are named '${name}' (ids: ${ids})`,
    'Use an id instead.',
  );
}

/** Throws `CommandError` before a change if the token may not see the secrets of a type. */
export async function assertMayReveal(connection: Connection, type: ResourceType): Promise<void> {
  const right = revealRight(type);
  if (right === undefined) return;
  const { rights } = await call(connection, 'GET', '/v2/whoami');
  if (!Array.isArray(rights) || rights.includes(right)) return;
  throw new CommandError(
    EXIT.denied,
    `The token may not see the secrets of ${type.collection}. Nothing was changed.`,
    `Omit --reveal, or use a token with the right '${right}', such as one with the role keymanager.`,
  );
}

/** Throws `CommandError` if the service omitted the secrets of a resource. */
export function assertSecrets(type: ResourceType, item: Item): void {
  if (secretFields(type).every((name) => item[name] !== undefined)) return;
  throw new CommandError(
    EXIT.denied,
    `The service does not show the secret of the ${type.noun} '${String(item.name)}' to this token`,
    `Use a token with the right '${String(revealRight(type))}', such as one with the role keymanager.`,
  );
}

function listHint(type: ResourceType): string {
  return `Run 'tsigil ${type.noun} list' to list all ${type.collection}.`;
}

/**
 * Runs requests about one resource. Adds to a refusal the command that lists what exists, if the
 * resource does not, or for a duplicate the name in `body`, if the message does not contain it. The
 * message of any other conflict says what stands in the way.
 */
export async function withHints<T>(
  type: ResourceType,
  work: () => Promise<T>,
  body: Item = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandError) || error.hint !== undefined) throw error;
    const name = type.unique === undefined ? undefined : body[type.unique.field];
    const isDuplicate = typeof name === 'string' && /^Duplicate \w+(?: \(|$)/.test(error.message);
    if (error.status === 404) throw withHint(error, listHint(type));
    if (error.status !== 409 || !isDuplicate) throw error;
    throw withHint(error, `A ${type.noun} named '${name}' already exists.`);
  }
}
