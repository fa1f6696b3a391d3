import { normaliseUuid } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { revealRight, secretFields } from '../../domain/model/response.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { call, type Connection } from './client.ts';
import { CommandError, EXIT } from '../output/errors.ts';

/** A resource as the service returns it. */
export type Item = Readonly<Record<string, unknown>>;

type Parameters = readonly (readonly [name: string, value: string])[];

/**
 * Returns the first `limit` resources of a list with these query parameters. Reads it page by page.
 */
export async function listItems(
  connection: Connection,
  type: ResourceType,
  parameters: Parameters,
  limit = Infinity,
): Promise<Item[]> {
  const path = `/v2/${type.collection}`;
  const paging: Parameters = limit < MAX_LIMIT ? [['limit', String(limit)]] : [];
  const query = new URLSearchParams(
    [...parameters, ...paging].map(([name, value]): [string, string] => [name, value]),
  ).toString();
  const items: Item[] = [];
  let next: string | undefined = query === '' ? path : `${path}?${query}`;
  while (next !== undefined && items.length < limit) {
    const page = await call(connection, 'GET', next);
    items.push(...((page[type.collection] ?? []) as Item[]));
    const link: string | undefined = (page.links as { next?: string } | undefined)?.next;
    next = link === undefined ? undefined : path + new URL(link).search;
  }
  return items.slice(0, limit);
}

/**
 * Returns the path of the resource with this id or name. Text in the form of a UUID is an id.
 * Throws `CommandError` unless exactly one exists.
 */
export async function findPath(
  connection: Connection,
  type: ResourceType,
  idOrName: string,
  toName: (name: string) => string,
): Promise<string> {
  return `/v2/${type.collection}/${await findId(connection, type, idOrName, toName)}`;
}

/**
 * Returns the id of the resource with this id or name. Text in the form of a UUID is an id. Throws
 * `CommandError` unless exactly one has the name.
 */
export async function findId(
  connection: Connection,
  type: ResourceType,
  idOrName: string,
  toName: (name: string) => string,
): Promise<string> {
  return normaliseUuid(idOrName) ?? (await findByName(connection, type, idOrName, toName));
}

async function findByName(
  connection: Connection,
  type: ResourceType,
  text: string,
  toName: (name: string) => string,
): Promise<string> {
  if (type.unique === undefined)
    throw new CommandError(
      EXIT.usage,
      `Invalid id '${text}'. A ${type.noun} has no name. Use its id.`,
      listHint(type),
    );
  const { field, comparisonForm } = type.unique;
  const name = toName(text);
  const wanted = comparisonForm(name);
  const found = await listItems(connection, type, [[field, name]]);
  // The service treats a name with an asterisk as a pattern.
  const equal = found.filter((item) => comparisonForm(String(item[field])) === wanted);
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

/** Throws `CommandError` if the service left the secrets out of a resource. */
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

/** Runs requests about one resource. Adds to a refusal a hint about what to run next. */
export async function withHints<T>(type: ResourceType, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandError) || error.hint !== undefined) throw error;
    const hint = [404, 409].includes(error.status ?? 0) ? listHint(type) : undefined;
    throw hint === undefined
      ? error
      : new CommandError(error.exitCode, error.message, hint, error, error.status);
  }
}
